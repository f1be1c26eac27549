/*
 * request.c: from name-value pairs to a handler's call. Runs on lanes; the handler's part on whichever thread the
 * handler is on. Knows nothing of sockets.
 */
#include "serve/request.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/log.h"
#include "serve/record.h"
#include "serve/stream.h"

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
    request->params_record_bytes = 0;
    request->body_given = false;
    request->content_length = -1;
    request->body_bytes = 0;
    request->method = "";
    request->error_status = 0;
    request->refusal = NULL;
    request->header_bytes = 0;
    request->started = request->cut = false;
    request->bodiless = request->error_used = false;
    request->status = 200;
    request->declared_bytes = -1;
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

/* Returns how many pairs there are, −1 when a length lies. */
static int count_pairs(struct span pairs)
{
    struct span name, value;
    int count = 0, result;
    while ((result = record_pair(&pairs, &name, &value)) == 1)
        count++;
    return result < 0 ? -1 : count;
}

/* Writes `NAME=value` and its NUL. Returns the byte behind them. */
static char *put_entry(char *to, struct span name, struct span value)
{
    memcpy(to, name.at, name.length);
    to += name.length;
    *to++ = '=';
    memcpy(to, value.at, value.length);
    to += value.length;
    *to++ = '\0';
    return to;
}

static char *new_entry(struct request *request, const char *name, struct span value)
{
    char *entry = arena_take(&request->arena, strlen(name) + value.length + 2);
    if (entry != NULL)
        put_entry(entry, span_text(name), value);
    return entry;
}

static bool has_nul(struct span bytes)
{
    return bytes.length > 0 && memchr(bytes.at, '\0', bytes.length) != NULL;
}

/* Where the runtime needs a variable's place in the environment. */
struct path_places {
    char **script_name, **path_info;
    struct span script_value, path_value;
    struct span content_length;
};

static void note(struct request *request, struct path_places *places, struct span name, struct span value, char **entry)
{
    if (span_is(name, "SCRIPT_NAME")) {
        places->script_name = entry;
        places->script_value = value;
    } else if (span_is(name, "PATH_INFO")) {
        places->path_info = entry;
        places->path_value = value;
    } else if (span_is(name, "REQUEST_METHOD")) {
        request->method = *entry + name.length + 1;
    } else if (span_is(name, "CONTENT_LENGTH")) {
        places->content_length = value;
    }
}

/* Builds envp with room for two more entries. Returns 0, or the status to answer. */
static int build_environment(struct request *request, int count, struct path_places *places)
{
    struct span pairs = span_of(request->params.bytes, request->params.length), name, value;
    char **envp = arena_take(&request->arena, ((size_t)count + 3) * sizeof *envp);
    /* A pair's two lengths take at least the two bytes that an entry needs for = and NUL. */
    char *text = arena_take(&request->arena, request->params.length);
    if (envp == NULL || text == NULL)
        return 500;
    for (int i = 0; i < count; i++) {
        CHECK(record_pair(&pairs, &name, &value) == 1);
        if (has_nul(name) || has_nul(value))
            return 400;
        envp[i] = text;
        text = put_entry(text, name, value);
        note(request, places, name, value, &envp[i]);
    }
    envp[count] = NULL;
    request->fcgx.envp = envp;
    return 0;
}

/* Returns 0, −1 when memory is short. */
static int set_paths(struct request *request, int count, struct path_places *places, struct span rest)
{
    char **envp = request->fcgx.envp;
    if (places->script_name == NULL)
        places->script_name = &envp[count++];
    if (places->path_info == NULL)
        places->path_info = &envp[count++];
    *places->script_name = new_entry(request, "SCRIPT_NAME", span_text(request->route->settings->path));
    *places->path_info = new_entry(request, "PATH_INFO", rest);
    envp[count] = NULL;
    return *places->script_name == NULL || *places->path_info == NULL ? -1 : 0;
}

static int route_request(struct request *request, const struct route_table *table, int count, struct path_places *places)
{
    size_t length = places->script_value.length + places->path_value.length;
    uint8_t *path = arena_take(&request->arena, length + 1);
    if (path == NULL)
        return 500;
    if (places->script_value.length > 0)
        memcpy(path, places->script_value.at, places->script_value.length);
    if (places->path_value.length > 0)
        memcpy(path + places->script_value.length, places->path_value.at, places->path_value.length);
    struct span rest = span_of(path, length);
    request->route = route_find(table, rest);
    if (request->route == NULL)
        return 404;
    if (request->route->path_length > 1)
        span_take(&rest, request->route->path_length);
    return set_paths(request, count, places, rest) < 0 ? 500 : 0;
}

/* Returns −1 when none was declared, −2 when it is no number. An empty value is what nginx sends for no body. */
static int64_t read_content_length(struct span text)
{
    if (text.length == 0)
        return -1;
    int64_t length = span_number(text);
    return length < 0 ? -2 : length;
}

/* Returns 0, or the status to answer instead of calling a handler. */
static int open_request(struct request *request, const struct route_table *table)
{
    struct path_places places = {0};
    int count = count_pairs(span_of(request->params.bytes, request->params.length));
    int status = count < 0 ? 400 : build_environment(request, count, &places);
    if (status != 0)
        return status;
    request->content_length = read_content_length(places.content_length);
    request->bodiless = strcmp(request->method, "HEAD") == 0;
    status = route_request(request, table, count, &places);
    if (status != 0)
        return status;
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
    log_set_request(request->number);
    fcgx->appStatus = request->route->app->handle(fcgx);
    log_set_request(0);
}
