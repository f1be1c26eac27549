/*
 * request.c: from variables to a handler's call. Runs on lanes; the handler's part on whichever thread the
 * handler is on. Knows nothing of sockets.
 */
#include "serve/request.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "serve/activity.h"
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
    request->ends = NULL;
    request->record = request->params = request->body = (struct gather){0};
    request->body_given = false;
    request->content_length = -1;
    request->body_bytes = 0;
    request->whole_body = REQUEST_BODY_UNASKED;
    request->query = request->form = NULL;
    request->method = request->uri = "";
    request->ready_us = request->started_us = request->handler_us = 0;
    request->suspension = NULL;
    request->on_wake = NULL;
    request->why_woken = MR_RESUMED;
    request->error_status = 0;
    request->refusal = NULL;
    request->header.length = 0;
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

static int set_paths(const struct request *request, struct variables *variables, struct span rest)
{
    struct span route = span_text(request->route->settings->path);
    if (variables_set(variables, variables->script_name, variables_entry(variables, "SCRIPT_NAME", route)) < 0)
        return -1;
    return variables_set(variables, variables->path_info, variables_entry(variables, "PATH_INFO", rest));
}

static int find_route(struct request *request, const struct route_table *table, struct variables *variables,
                      struct span path)
{
    request->route = route_find(table, path);
    if (request->route == NULL)
        return 404;
    if (request->route->path_length > 1)
        span_take(&path, request->route->path_length);
    return set_paths(request, variables, path) < 0 ? 500 : 0;
}

int request_open(struct request *request, const struct route_table *table, struct variables *variables,
                 struct span path)
{
    request->bodiless = strcmp(request->method, "HEAD") == 0;
    request->fcgx.envp = variables_end(variables); /* also what is refused has a line in the access log */
    int status = find_route(request, table, variables, path);
    if (status != 0)
        return status;
    request->fcgx.envp = variables_end(variables);
    return request_body_is_over(request, request->content_length) ? 413 : 0;
}

void request_refuse(struct request *request, int status, const char *why)
{
    request->refusal = why;
    request->refusal_status = status;
}

bool request_body_is_over(const struct request *request, int64_t body_bytes)
{
    return body_bytes > request->route->settings->max_body_bytes;
}

int request_at_end(struct request *request, void (*function)(void *arg), void *arg)
{
    struct request_end *end = arena_take(&request->arena, sizeof *end);
    if (end == NULL)
        return -1;
    *end = (struct request_end){function, arg, request->ends};
    request->ends = end;
    return 0;
}

/* One of these may ask for others. */
static void call_ends(struct request *request)
{
    while (request->ends != NULL) {
        const struct request_end *end = request->ends;
        request->ends = end->next;
        end->function(end->arg);
    }
}

static void open_streams(struct request *request)
{
    stream_open(request);
    request->fcgx.in = &request->in;
    request->fcgx.out = &request->out;
    request->fcgx.err = &request->err;
}

static int call(struct request *request)
{
    if (request->on_wake == NULL)
        return request->route->app->handle(&request->fcgx);
    return request->on_wake(&request->fcgx, request->why_woken, request->wake_arg);
}

void request_handle(struct request *request)
{
    if (request->on_wake == NULL)
        open_streams(request);
    activity_begin(request);
    request->fcgx.appStatus = call(request);
    if (request->suspension == NULL)
        call_ends(request);
    activity_end(request);
}

const char *request_variable(const struct request *request, const char *name)
{
    return request->fcgx.envp == NULL ? NULL : FCGX_GetParam(name, request->fcgx.envp);
}
