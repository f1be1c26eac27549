/*
 * http.c: turns bytes into requests, head by head and body by body. Runs on the lane that has the connection, and on a
 * handler's thread for the body of its request. Decides nothing about sockets or threads.
 */
#include "serve/http.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/check.h"
#include "base/log.h"
#include "serve/connection.h"
#include "serve/http_answer.h"
#include "serve/http_variables.h"
#include "serve/proxy_protocol.h"
#include "serve/request.h"
#include "serve/wire.h"
#include "serve/worker.h"

_Static_assert(HTTP_HEAD_BYTES <= REQUEST_INPUT_BYTES, "a head fits the input buffer");

static const struct settings *settings_of(const struct connection *connection)
{
    return connection->lane->worker->settings;
}

/* Nothing that the client sends can be understood any more. */
static void lose(struct connection *connection)
{
    connection->http.keep = false;
    connection->http.phase = HTTP_LOST;
}

static enum transport_event broken(const char *what)
{
    log_warning("http", "closing a connection: %s", what);
    return TRANSPORT_BROKEN;
}

/* -- whose connection it is -------------------------------------------------------------------------------------------
 */

union socket_address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_storage room;
};

/* A load balancer says for whom it has connected. Returns TRANSPORT_READY, or what else there is to do. */
static enum transport_event read_proxy_header(struct connection *connection, union socket_address *remote,
                                              union socket_address *local)
{
    struct request *request = connection->request;
    struct proxy_protocol header;
    switch (proxy_protocol_parse(request_unparsed(request), &header)) {
    case PROXY_PROTOCOL_MORE:
        return TRANSPORT_MORE;
    case PROXY_PROTOCOL_BAD:
        return broken("no PROXY protocol header from an address in proxy_protocol_from");
    case PROXY_PROTOCOL_DONE:
        break;
    }
    request->input_start += header.bytes;
    if (!header.local) {
        memcpy(remote, &header.source, sizeof header.source);
        memcpy(local, &header.destination, sizeof header.destination);
    }
    return TRANSPORT_READY;
}

static enum transport_event find_origin(struct connection *connection)
{
    const struct settings *settings = settings_of(connection);
    union socket_address remote = {0}, local = {0};
    socklen_t remote_length = sizeof remote, local_length = sizeof local;
    if (getpeername(connection->fd, &remote.any, &remote_length) < 0 ||
        getsockname(connection->fd, &local.any, &local_length) < 0)
        return TRANSPORT_BROKEN; /* it has gone by now */
    if (networks_hold(&settings->proxy_protocol_from, &remote.any)) {
        enum transport_event event = read_proxy_header(connection, &remote, &local);
        if (event != TRANSPORT_READY)
            return event;
    }
    connection->http.origin =
        origin_new(&remote.any, &local.any, networks_hold(&settings->forwarded_from, &remote.any));
    return connection->http.origin == NULL ? broken("no memory") : TRANSPORT_READY;
}

/* -- heads ------------------------------------------------------------------------------------------------------------
 */

/* RFC 9112 section 2.2: an empty line or two before a request are a client's old habit. */
static void skip_empty_lines(struct request *request)
{
    struct span input = request_unparsed(request);
    while (input.length >= 2 && input.at[0] == '\r' && input.at[1] == '\n')
        span_take(&input, 2);
    request->input_start = request->input_end - input.length;
}

static void open_request(struct connection *connection)
{
    struct request *request = connection->request;
    struct variables variables;
    struct span path;
    variables_init(&variables, &request->arena);
    request->error_status = http_variables_read(request, connection->http.origin, &variables, &path);
    if (request->error_status == 0 && origin_is_trusted(connection->http.origin) &&
        http_variables_forward(&variables, &settings_of(connection)->forwarded_from) < 0)
        request->error_status = 500;
    if (request->error_status == 0)
        request->error_status = request_open(request, &connection->lane->worker->routes, &variables, path);
    if (request->error_status == 400)
        lose(connection);
}

static void refuse_request(struct connection *connection, int status)
{
    struct request *request = connection->request;
    struct variables variables;
    variables_init(&variables, &request->arena);
    http_variables_read_bad(request, connection->http.origin, &variables);
    request->error_status = status;
    lose(connection);
}

static void begin_body(struct connection *connection)
{
    struct http *http = &connection->http;
    const struct http_head *head = &connection->request->head;
    http->chunks = (struct http_chunks){0};
    http->chunked = head->chunked;
    http->left_bytes = head->content_length > 0 ? head->content_length : 0;
    http->keep = http_head_keeps(head);
    http->phase = http->chunked || http->left_bytes > 0 ? HTTP_BODY : HTTP_COMPLETE;
    http->unasked = http->phase == HTTP_BODY && head->expects_continue && head->minor == 1;
}

/* Returns TRANSPORT_READY when there is a head, good or bad. */
static enum transport_event read_head(struct connection *connection)
{
    struct request *request = connection->request;
    size_t limit_bytes = settings_of(connection)->max_params_bytes;
    int result = http_parse_head(&request->head, request_unparsed(request),
                                 limit_bytes < HTTP_HEAD_BYTES ? limit_bytes : HTTP_HEAD_BYTES);
    if (result == HTTP_MORE)
        return TRANSPORT_MORE;
    if (result == HTTP_DONE) {
        begin_body(connection);
        open_request(connection);
    } else {
        refuse_request(connection, result);
    }
    request->input_start += request->head.length;
    return TRANSPORT_READY;
}

/* -- bodies -----------------------------------------------------------------------------------------------------------
 */

enum step { STEP_MORE, STEP_BYTES, STEP_END, STEP_BAD };

static enum step next_declared(struct http *http, struct span *input, struct span *bytes)
{
    if (http->left_bytes == 0)
        return STEP_END;
    if (input->length == 0)
        return STEP_MORE;
    *bytes = span_take(input, http->left_bytes < (int64_t)input->length ? (size_t)http->left_bytes : input->length);
    http->left_bytes -= (int64_t)bytes->length;
    return STEP_BYTES;
}

static enum step next_chunk(struct http *http, struct span *input, struct span *bytes)
{
    switch (http_parse_chunk(&http->chunks, input, bytes)) {
    case HTTP_CHUNK_MORE:
        return STEP_MORE;
    case HTTP_CHUNK_BYTES:
        return STEP_BYTES;
    case HTTP_CHUNK_END:
        return STEP_END;
    case HTTP_CHUNK_BAD:
        break;
    }
    return STEP_BAD;
}

/* Goes on with the body. `bytes` is set for STEP_BYTES and points into the request's input. */
static enum step next_step(struct connection *connection, struct span *bytes)
{
    struct http *http = &connection->http;
    struct request *request = connection->request;
    struct span input = request_unparsed(request);
    *bytes = span_of(input.at, 0);
    enum step step = http->chunked ? next_chunk(http, &input, bytes) : next_declared(http, &input, bytes);
    request->input_start = request->input_end - input.length;
    request->body_bytes += (int64_t)bytes->length;
    if (bytes->length > 0)
        http->unasked = false;
    return step;
}

/* -- the lane's side --------------------------------------------------------------------------------------------------
 */

static enum transport_event gather_body(struct connection *connection)
{
    struct request *request = connection->request;
    struct span bytes;
    for (;;) {
        if (request->error_status != 0 || request->body.length >= REQUEST_BODY_BUFFER)
            return TRANSPORT_READY;
        switch (next_step(connection, &bytes)) {
        case STEP_MORE:
            return TRANSPORT_MORE;
        case STEP_BYTES:
            if (connection->http.chunked && request_body_is_over(request, request->body_bytes))
                request->error_status = 413;
            else if (request_gather(request, &request->body, bytes) < 0)
                request->error_status = 500;
            break;
        case STEP_END:
            connection->http.phase = HTTP_COMPLETE;
            if (connection->http.chunked) {
                request->content_length = request->body_bytes;
                http_variables_set_length(request);
            }
            return TRANSPORT_READY;
        case STEP_BAD:
            request->error_status = 400;
            lose(connection);
            break;
        }
    }
}

/* RFC 9110 section 10.1.1: asks for the body that the client holds back. */
static enum transport_event ask_for_body(struct connection *connection)
{
    static const char words[] = "HTTP/1.1 100 Continue\r\n\r\n";
    connection->http.unasked = false;
    switch (wire_reply(connection, words, sizeof words - 1)) {
    case 0:
        return TRANSPORT_MORE;
    case 1:
        return TRANSPORT_FULL;
    default:
        return TRANSPORT_BROKEN;
    }
}

static enum transport_event read_body(struct connection *connection)
{
    enum transport_event event = gather_body(connection);
    return event == TRANSPORT_MORE && connection->http.unasked ? ask_for_body(connection) : event;
}

/* Reads away what is left of the body of a request that was answered. Returns TRANSPORT_READY at its end. */
static enum transport_event skip_rest(struct connection *connection)
{
    struct span bytes;
    for (;;) {
        switch (next_step(connection, &bytes)) {
        case STEP_MORE:
            return TRANSPORT_MORE;
        case STEP_BYTES:
            if (connection->request->body_bytes > HTTP_SKIP_MAX_BYTES)
                return broken("too many bytes of a body that nobody reads");
            break;
        case STEP_END:
            connection->request->body_bytes = 0;
            return TRANSPORT_READY;
        case STEP_BAD:
            return broken("a body that nobody reads has a bad chunk");
        }
    }
}

/* Makes a step from one phase to the next. Returns TRANSPORT_READY when there is another. */
static enum transport_event leave_phase(struct connection *connection)
{
    struct http *http = &connection->http;
    struct request *request = connection->request;
    enum transport_event event = TRANSPORT_READY;
    switch ((enum http_phase)http->phase) {
    case HTTP_NEW:
        event = find_origin(connection);
        if (event == TRANSPORT_READY)
            http->phase = HTTP_BETWEEN;
        break;
    case HTTP_BETWEEN:
        skip_empty_lines(request);
        if (request_unparsed(request).length == 0)
            return TRANSPORT_MORE;
        http_head_init(&request->head);
        http->phase = HTTP_HEAD;
        http->answers_chunks = false;
        break;
    case HTTP_HEAD:
        event = read_head(connection);
        break;
    case HTTP_BODY:
        event = read_body(connection);
        break;
    case HTTP_REST:
        event = skip_rest(connection);
        if (event == TRANSPORT_READY)
            http->phase = HTTP_BETWEEN;
        break;
    case HTTP_COMPLETE:
    case HTTP_LOST:
        CHECK(false); /* answered before anything else is read */
    }
    return event;
}

static enum transport_event http_advance(struct connection *connection)
{
    for (;;) {
        uint8_t phase = connection->http.phase;
        enum transport_event event = leave_phase(connection);
        if (event != TRANSPORT_READY || phase == HTTP_BODY)
            return event;
        if (phase == HTTP_HEAD && (connection->http.phase == HTTP_COMPLETE || connection->request->error_status != 0))
            return event;
    }
}

static enum transport_place http_place(const struct connection *connection)
{
    static const uint8_t places[] = {
        [HTTP_NEW] = TRANSPORT_STRAY, [HTTP_BETWEEN] = TRANSPORT_BETWEEN,   [HTTP_HEAD] = TRANSPORT_HEAD,
        [HTTP_BODY] = TRANSPORT_BODY, [HTTP_COMPLETE] = TRANSPORT_COMPLETE, [HTTP_REST] = TRANSPORT_BODY,
        [HTTP_LOST] = TRANSPORT_BODY,
    };
    return places[connection->http.phase];
}

static int http_late(struct connection *connection)
{
    if (connection->http.phase != HTTP_HEAD && connection->http.phase != HTTP_BODY)
        return 0;
    lose(connection);
    return 408;
}

static bool http_done(struct connection *connection)
{
    struct http *http = &connection->http;
    http->phase = http->phase == HTTP_BODY ? HTTP_REST : HTTP_BETWEEN;
    return http->keep;
}

static struct span http_memory(const struct connection *connection)
{
    const struct origin *origin = connection->http.origin;
    return origin == NULL ? span_of("", 0) : span_of(origin->memory, origin->length);
}

static int http_restore(struct connection *connection, struct span memory)
{
    if (memory.length == 0)
        return 0; /* nobody has read from it */
    connection->http.origin = origin_copy(memory);
    connection->http.phase = HTTP_BETWEEN;
    return connection->http.origin == NULL ? -1 : 0;
}

static void http_fini(struct connection *connection)
{
    free(connection->http.origin);
}

/* -- the handler's side -----------------------------------------------------------------------------------------------
 */

/* The connection ends with this answer; `why` is static text, NULL: there is nobody to tell. */
static enum transport_body cut_body(struct connection *connection, int status, const char *why)
{
    if (why != NULL)
        request_refuse(connection->request, status, why);
    lose(connection);
    return TRANSPORT_BODY_CUT;
}

static enum transport_body cut_late_body(struct connection *connection)
{
    return cut_body(connection, 408, "its body did not arrive within body_timeout");
}

static enum transport_body http_read_body(struct request *request, struct span *bytes)
{
    struct connection *connection = request->connection;
    const struct settings *settings = settings_of(connection);
    int64_t deadline_us = 0;
    ssize_t got;
    for (;;) {
        if (connection->http.phase != HTTP_BODY)
            return connection->http.phase == HTTP_LOST ? TRANSPORT_BODY_CUT : TRANSPORT_BODY_END;
        switch (next_step(connection, bytes)) {
        case STEP_MORE:
            if (deadline_us == 0)
                deadline_us = clock_now_us() + settings->body_timeout_us;
            else if (clock_now_us() > deadline_us && !settings->debug)
                return cut_late_body(connection); /* a peer that sends nothing but chunk lines is not waited for */
            got = wire_receive(connection, deadline_us);
            if (got <= 0)
                return got < 0 && errno == EAGAIN ? cut_late_body(connection) : cut_body(connection, 0, NULL);
            break;
        case STEP_BYTES:
            if (connection->http.chunked && request_body_is_over(request, request->body_bytes))
                return cut_body(connection, 413, "its body is over max_body");
            return TRANSPORT_BODY_BYTES;
        case STEP_END:
            connection->http.phase = HTTP_COMPLETE;
            return TRANSPORT_BODY_END;
        case STEP_BAD:
            return cut_body(connection, 400, "its body has a bad chunk");
        }
    }
}

/* A peer that has closed its sending side may still wait: only a reset tells. */
static bool http_is_aborted(struct request *request)
{
    struct pollfd looked_at = {.fd = request->connection->fd};
    return poll(&looked_at, 1, 0) > 0 && (looked_at.revents & (POLLHUP | POLLERR)) != 0;
}

const struct transport http_transport = {
    .letter = 'h',
    .half_closed_is_gone = false,
    .advance = http_advance,
    .place = http_place,
    .late = http_late,
    .done = http_done,
    .memory = http_memory,
    .restore = http_restore,
    .fini = http_fini,
    .read_body = http_read_body,
    .is_aborted = http_is_aborted,
    .frame = http_answer_frame,
};
