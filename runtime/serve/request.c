/*
 * request.c: from name-value pairs to a handler's call. Runs on lanes; the handler's part on whichever thread the
 * handler is on. Knows nothing of sockets.
 */
#include "serve/request.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "serve/activity.h"
#include "serve/record.h"
#include "serve/stream.h"

#define ENVIRONMENT_ENTRIES 64 /* what nginx sends are about 25 */

struct request *request_new(void)
{
    struct request *request = malloc(sizeof *request);
    if (request == NULL)
        return NULL;
    arena_init(&request->arena, request->memory, sizeof request->memory);
    request->input_start = request->input_end = 0;
    request->connection = NULL;
    request_reset(request);
    return request;
}

void request_free(struct request *request)
{
    arena_reset(&request->arena);
    free(request);
}

void request_reset(struct request *request)
{
    arena_reset(&request->arena);
    memset(&request->fcgx, 0, sizeof request->fcgx);
    request->fcgx.ipcFd = request->fcgx.listen_sock = -1;
    request->route = NULL;
    request->record = request->params = request->body = (struct gather){0};
    request->body_given = false;
    request->content_length = -1;
    request->body_bytes = 0;
    request->method = request->uri = "";
    request->ready_us = request->started_us = request->handler_us = 0;
    request->error_status = 0;
    request->refusal = NULL;
    request->header_bytes = 0;
    request->started = request->cut = request->aborted = false;
    request->bodiless = request->error_used = request->refused = false;
    request->status = 200;
    request->declared_bytes = request->computed_bytes = -1;
    request->sent_bytes = 0;
    request->error_buffer = NULL;
    request->unsent[0] = request->unsent[1] = (struct iovec){0};
    if (request->input_start == request->input_end)
        request->input_start = request->input_end = 0;
}

size_t request_input_room(struct request *request)
{
    if (request->input_start > 0) {
        size_t left = request->input_end - request->input_start;
        memmove(request->input, request->input + request->input_start, left);
        request->input_start = 0;
        request->input_end = left;
    }
    return sizeof request->input - request->input_end;
}

int request_gather(struct request *request, struct gather *gather, struct span bytes)
{
    if (bytes.length == 0)
        return 0;
    if (bytes.length > gather->room - gather->length) {
        size_t room = gather->room > 0 ? gather->room : 1024;
        while (room - gather->length < bytes.length)
            room *= 2;
        uint8_t *larger = arena_take(&request->arena, room);
        if (larger == NULL)
            return -1;
        if (gather->length > 0)
            memcpy(larger, gather->bytes, gather->length);
        gather->bytes = larger;
        gather->room = room;
    }
    memcpy(gather->bytes + gather->length, bytes.at, bytes.length);
    gather->length += bytes.length;
    return 0;
}

static char *new_entry(struct request *request, const char *name, struct span value)
{
    size_t length = strlen(name);
    char *entry = arena_take(&request->arena, length + value.length + 2);
    if (entry == NULL)
        return NULL;
    memcpy(entry, name, length);
    entry[length] = '=';
    memcpy(entry + length + 1, value.at, value.length);
    entry[length + 1 + value.length] = '\0';
    return entry;
}

/* The environment while it is made, and where in it the runtime needs a variable. */
struct environment {
    char **entries; /* NULL at the end only when it is complete */
    int count, room;
    int script_name, path_info; /* their places, −1: none yet */
    struct span script_value, path_value, content_length;
};

static int add_entry(struct request *request, struct environment *environment, char *entry)
{
    if (environment->count + 1 >= environment->room) {
        int room = environment->room > 0 ? environment->room * 2 : ENVIRONMENT_ENTRIES;
        char **larger = arena_take(&request->arena, (size_t)room * sizeof *larger);
        if (larger == NULL)
            return -1;
        if (environment->count > 0)
            memcpy(larger, environment->entries, (size_t)environment->count * sizeof *larger);
        environment->entries = larger;
        environment->room = room;
    }
    environment->entries[environment->count++] = entry;
    return 0;
}

static void note(struct request *request, struct environment *environment, struct span name, struct span value)
{
    int place = environment->count - 1;
    if (span_is(name, "SCRIPT_NAME")) {
        environment->script_name = place;
        environment->script_value = value;
    } else if (span_is(name, "PATH_INFO")) {
        environment->path_info = place;
        environment->path_value = value;
    } else if (span_is(name, "REQUEST_METHOD")) {
        request->method = environment->entries[place] + name.length + 1;
    } else if (span_is(name, "REQUEST_URI")) {
        request->uri = environment->entries[place] + name.length + 1;
    } else if (span_is(name, "CONTENT_LENGTH")) {
        environment->content_length = value;
    }
}

/* Turns the pairs into entries where they are: the lengths in front of a name leave room to move it up by the `=`, and
 * its value stays. The NUL behind an entry goes where the next pair's lengths were, once they are read; behind the last
 * one there is a byte for it. Returns 0, or the status to answer. */
static int build_environment(struct request *request, struct environment *environment)
{
    struct span pairs = span_of(request->params.bytes, request->params.length), name, value;
    char *end = NULL;
    int result;
    if (request_gather(request, &request->params, span_of("", 1)) < 0)
        return 500;
    pairs.at = request->params.bytes; /* they may have moved */
    while ((result = record_pair(&pairs, &name, &value)) == 1) {
        char *entry = (char *)request->params.bytes + (name.at - request->params.bytes) - 1;
        if (end != NULL)
            *end = '\0';
        memmove(entry, name.at, name.length);
        entry[name.length] = '=';
        end = entry + name.length + 1 + value.length;
        if (memchr(entry, '\0', (size_t)(end - entry)) != NULL)
            return 400;
        if (add_entry(request, environment, entry) < 0)
            return 500;
        note(request, environment, span_of(entry, name.length), value);
    }
    if (end != NULL)
        *end = '\0';
    return result < 0 ? 400 : 0;
}

/* Sets the variable at `place`, or adds it. Returns 0, −1 when memory is short. */
static int set_entry(struct request *request, struct environment *environment, int place, char *entry)
{
    if (entry == NULL)
        return -1;
    if (place < 0)
        return add_entry(request, environment, entry);
    environment->entries[place] = entry;
    return 0;
}

static int set_paths(struct request *request, struct environment *environment, struct span rest)
{
    const char *route = request->route->settings->path;
    if (set_entry(request, environment, environment->script_name, new_entry(request, "SCRIPT_NAME", span_text(route))) <
        0)
        return -1;
    return set_entry(request, environment, environment->path_info, new_entry(request, "PATH_INFO", rest));
}

static int route_request(struct request *request, const struct route_table *table, struct environment *environment)
{
    struct span script = environment->script_value, info = environment->path_value;
    uint8_t *path = arena_take(&request->arena, script.length + info.length + 1);
    if (path == NULL)
        return 500;
    if (script.length > 0)
        memcpy(path, script.at, script.length);
    if (info.length > 0)
        memcpy(path + script.length, info.at, info.length);
    struct span rest = span_of(path, script.length + info.length);
    request->route = route_find(table, rest);
    if (request->route == NULL)
        return 404;
    if (request->route->path_length > 1)
        span_take(&rest, request->route->path_length);
    return set_paths(request, environment, rest) < 0 ? 500 : 0;
}

/* Returns −1 when none was declared, −2 when it is no number. An empty value is what nginx sends for no body. */
static int64_t read_content_length(struct span text)
{
    if (text.length == 0)
        return -1;
    int64_t length = span_number(text);
    return length < 0 ? -2 : length;
}

static void give_environment(struct request *request, const struct environment *environment)
{
    if (environment->count > 0) {
        environment->entries[environment->count] = NULL;
        request->fcgx.envp = environment->entries;
    }
}

/* Returns 0, or the status to answer instead of calling a handler. */
static int open_request(struct request *request, const struct route_table *table)
{
    struct environment environment = {.script_name = -1, .path_info = -1};
    int status = build_environment(request, &environment);
    if (status != 0)
        return status;
    request->content_length = read_content_length(environment.content_length);
    request->bodiless = strcmp(request->method, "HEAD") == 0;
    give_environment(request, &environment); /* also what is refused has a line in the access log */
    status = route_request(request, table, &environment);
    if (status != 0)
        return status;
    give_environment(request, &environment);
    if (request->content_length == -2)
        return 400;
    return request_body_is_over(request, request->content_length) ? 413 : 0;
}

void request_open(struct request *request, const struct route_table *table)
{
    request->error_status = open_request(request, table);
}

bool request_body_is_over(const struct request *request, int64_t body_bytes)
{
    return body_bytes > request->route->settings->max_body_bytes;
}

void request_handle(struct request *request)
{
    FCGX_Request *fcgx = &request->fcgx;
    stream_open(request);
    fcgx->in = &request->in;
    fcgx->out = &request->out;
    fcgx->err = &request->err;
    activity_begin(request);
    fcgx->appStatus = request->route->app->handle(fcgx);
    activity_end(request);
}

const char *request_variable(const struct request *request, const char *name)
{
    return request->fcgx.envp == NULL ? NULL : FCGX_GetParam(name, request->fcgx.envp);
}
