/*
 * fastcgi.c: turns records into requests and answers into records. Runs on the lane that has the connection, and on a
 * handler's thread for the body and the answer of its request. Decides nothing about sockets or threads.
 */
#include "serve/fastcgi.h"

#include <stdio.h>

#include "base/check.h"
#include "base/log.h"
#include "serve/connection.h"
#include "serve/params.h"
#include "serve/request.h"
#include "serve/stream.h"
#include "serve/wire.h"
#include "serve/worker.h"

#define PADDING_UNIT      8
#define LENGTH_LINE_BYTES 64
_Static_assert(REQUEST_OUTPUT_BYTES + LENGTH_LINE_BYTES <= RECORD_CONTENT_MAX, "an answer's buffer fits one record");
_Static_assert(REQUEST_HEADROOM >= RECORD_HEADER_BYTES + LENGTH_LINE_BYTES, "what is put before it has room");
#define SKIP_MAX_BYTES (16u << 20) /* of a body that nobody read; after that the connection is closed */

/* What one piece of a record meant for the request at hand. */
enum step { STEP_ON, STEP_FULL, STEP_MORE, STEP_HEAD, STEP_BODY, STEP_BODY_END, STEP_ABORTED, STEP_CLOSE, STEP_BROKEN };

static enum step broken(const char *what)
{
    log_warning("fastcgi", "closing a connection: %s", what);
    return STEP_BROKEN;
}

static enum step reply(struct connection *connection, const uint8_t *bytes, size_t length)
{
    int result = wire_reply(connection, bytes, length);
    return result == 0 ? STEP_ON : result == 1 ? STEP_FULL : STEP_BROKEN;
}

/* A request that was begun ends like every other: an empty STDOUT, then END_REQUEST. */
static enum step reply_aborted(struct connection *connection)
{
    uint8_t records[RECORD_HEADER_BYTES + RECORD_END_BYTES];
    uint16_t id = connection->fastcgi.id;
    size_t length = record_put_header(records, RECORD_STDOUT, id, 0, 0);
    length += record_put_end(records + length, id, 0, RECORD_REQUEST_COMPLETE);
    return reply(connection, records, length);
}

static enum step reply_end(struct connection *connection, uint16_t id, enum record_status status)
{
    uint8_t record[RECORD_END_BYTES];
    return reply(connection, record, record_put_end(record, id, 0, status));
}

/* -- management records ----------------------------------------------------------------------------------------- */

/* Section 4.1. Each known name is answered once, whatever the order and number of the questions. */
static enum step answer_values(struct connection *connection, struct span names)
{
    const struct worker *worker = connection->lane->worker;
    struct {
        const char *name;
        unsigned value;
        bool asked;
    } known[] = {{"FCGI_MAX_CONNS", worker->max_connections, false},
                 {"FCGI_MAX_REQS", worker->max_requests, false},
                 {"FCGI_MPXS_CONNS", 0, false}};
    uint8_t answer[REQUEST_REPLY_BYTES];
    size_t length = RECORD_HEADER_BYTES;
    struct span name, value;
    while (record_pair(&names, &name, &value) == 1) {
        for (size_t i = 0; i < COUNT_OF(known); i++) {
            if (known[i].asked || !span_is(name, known[i].name))
                continue;
            char text[16];
            snprintf(text, sizeof text, "%u", known[i].value);
            length += record_put_short_pair(answer + length, name, span_text(text));
            known[i].asked = true;
        }
    }
    record_put_header(answer, RECORD_GET_VALUES_RESULT, 0, length - RECORD_HEADER_BYTES, 0);
    return reply(connection, answer, length);
}

static enum step on_management(struct connection *connection, const struct record_piece *piece)
{
    struct request *request = connection->request;
    if (piece->type >= RECORD_BEGIN_REQUEST && piece->type <= RECORD_DATA)
        return broken("a request's record has the id 0");
    if (piece->type != RECORD_GET_VALUES) {
        uint8_t record[RECORD_HEADER_BYTES + 8];
        return piece->ends_record ? reply(connection, record, record_put_unknown_type(record, piece->type)) : STEP_ON;
    }
    if (request_gather(request, &request->record, piece->bytes) < 0)
        return broken("no memory");
    if (!piece->ends_record)
        return STEP_ON;
    struct span names = span_of(request->record.bytes, request->record.length);
    request->record.length = 0;
    return answer_values(connection, names);
}

/* -- a request's records ---------------------------------------------------------------------------------------- */

static enum step on_begin(struct connection *connection, const struct record_piece *piece)
{
    struct fastcgi *fastcgi = &connection->fastcgi;
    struct gather *content = &connection->request->record;
    if (piece->content_length != 8)
        return broken("BEGIN_REQUEST does not have 8 bytes");
    if (request_gather(connection->request, content, piece->bytes) < 0)
        return broken("no memory");
    if (!piece->ends_record)
        return STEP_ON;
    unsigned role = (unsigned)content->bytes[0] << 8 | content->bytes[1];
    bool keep = content->bytes[2] & RECORD_FLAG_KEEP_CONN;
    content->length = 0;
    if (fastcgi->phase != FASTCGI_BETWEEN) {
        if (piece->id == fastcgi->id)
            return broken("BEGIN_REQUEST for the request at hand");
        return reply_end(connection, piece->id, RECORD_CANT_MPX_CONN);
    }
    if (role != RECORD_ROLE_RESPONDER) {
        enum step step = reply_end(connection, piece->id, RECORD_UNKNOWN_ROLE);
        return step != STEP_BROKEN && !keep ? STEP_CLOSE : step;
    }
    fastcgi->phase = FASTCGI_PARAMS;
    fastcgi->id = piece->id;
    fastcgi->keep = keep;
    fastcgi->skipped_bytes = 0;
    return STEP_ON;
}

static void open_request(struct request *request, const struct route_table *routes)
{
    struct variables variables;
    struct span path;
    variables_init(&variables, &request->arena);
    request->error_status = params_read(request, &variables, &path);
    if (request->error_status == 0)
        request->error_status = request_open(request, routes, &variables, path);
}

static enum step on_params(struct connection *connection, const struct record_piece *piece)
{
    struct request *request = connection->request;
    const struct worker *worker = connection->lane->worker;
    if (piece->content_length == 0) {
        connection->fastcgi.phase = FASTCGI_STDIN;
        open_request(request, &worker->routes);
        return STEP_HEAD;
    }
    if (request->params.length + piece->bytes.length > worker->settings->max_params_bytes) {
        log_warning("fastcgi", "a request's parameters are over max_params_bytes (%zu): refused",
                    worker->settings->max_params_bytes);
        connection->fastcgi.phase = FASTCGI_BETWEEN;
        request_reset(request);
        enum step step = reply_end(connection, piece->id, RECORD_OVERLOADED);
        return step != STEP_BROKEN && !connection->fastcgi.keep ? STEP_CLOSE : step;
    }
    return request_gather(request, &request->params, piece->bytes) < 0 ? broken("no memory") : STEP_ON;
}

/* Bytes beyond a declared length are not the handler's. */
static enum step on_stdin(struct connection *connection, const struct record_piece *piece, struct span *bytes)
{
    struct request *request = connection->request;
    if (piece->content_length == 0) {
        connection->fastcgi.phase = FASTCGI_COMPLETE;
        return STEP_BODY_END;
    }
    *bytes = piece->bytes;
    if (request->content_length >= 0 && (int64_t)bytes->length > request->content_length - request->body_bytes)
        bytes->length = (size_t)(request->content_length - request->body_bytes);
    request->body_bytes += (int64_t)bytes->length;
    return STEP_BODY;
}

static enum step on_foreign(struct connection *connection, const struct record_piece *piece)
{
    struct fastcgi *fastcgi = &connection->fastcgi;
    if (fastcgi->phase != FASTCGI_BETWEEN || piece->type != RECORD_STDIN)
        return STEP_ON;
    fastcgi->skipped_bytes += (uint32_t)piece->bytes.length;
    return fastcgi->skipped_bytes > SKIP_MAX_BYTES ? broken("too many bytes of a body that nobody reads") : STEP_ON;
}

static enum step on_piece(struct connection *connection, const struct record_piece *piece, struct span *bytes)
{
    const struct fastcgi *fastcgi = &connection->fastcgi;
    if (piece->id == 0)
        return on_management(connection, piece);
    if (piece->type == RECORD_BEGIN_REQUEST)
        return on_begin(connection, piece);
    if (fastcgi->phase == FASTCGI_BETWEEN || piece->id != fastcgi->id)
        return on_foreign(connection, piece);
    if (piece->type == RECORD_PARAMS && fastcgi->phase == FASTCGI_PARAMS)
        return on_params(connection, piece);
    if (piece->type == RECORD_STDIN && fastcgi->phase == FASTCGI_STDIN)
        return on_stdin(connection, piece, bytes);
    if (piece->type == RECORD_ABORT_REQUEST)
        return piece->ends_record ? STEP_ABORTED : STEP_ON;
    return STEP_ON;
}

/* Parses input until something matters. `bytes` is set for STEP_BODY and points into the request's input. */
static enum step next_step(struct connection *connection, struct span *bytes)
{
    struct request *request = connection->request;
    struct record_piece piece;
    for (;;) {
        struct span input = request_unparsed(request);
        enum record_result result = record_parse(&connection->fastcgi.parser, &input, &piece);
        request->input_start = request->input_end - input.length;
        if (result == RECORD_MORE)
            return STEP_MORE;
        if (result == RECORD_BAD_VERSION)
            return broken("a record's version is not 1");
        enum step step = on_piece(connection, &piece, bytes);
        if (step != STEP_ON)
            return step;
    }
}

/* -- the lane's side -------------------------------------------------------------------------------------------- */

static bool is_body_enough(const struct request *request)
{
    return request->error_status != 0 || request->body_bytes == request->content_length ||
           request->body.length >= REQUEST_BODY_BUFFER;
}

static bool gather_body(struct request *request, struct span bytes)
{
    if (request->content_length < 0 && request_body_is_over(request, request->body_bytes))
        request->error_status = 413;
    else if (request_gather(request, &request->body, bytes) < 0)
        request->error_status = 500;
    return is_body_enough(request);
}

static enum transport_event fastcgi_advance(struct connection *connection)
{
    struct span bytes;
    for (;;) {
        switch (next_step(connection, &bytes)) {
        case STEP_MORE:
            return TRANSPORT_MORE;
        case STEP_HEAD:
            if (is_body_enough(connection->request))
                return TRANSPORT_READY;
            break;
        case STEP_BODY:
            if (gather_body(connection->request, bytes))
                return TRANSPORT_READY;
            break;
        case STEP_BODY_END:
            return TRANSPORT_READY;
        case STEP_ABORTED:
            return reply_aborted(connection) != STEP_BROKEN ? TRANSPORT_ENDED : TRANSPORT_BROKEN;
        case STEP_FULL:
            return TRANSPORT_FULL;
        case STEP_CLOSE:
            connection->fastcgi.keep = false;
            return TRANSPORT_ENDED;
        case STEP_ON:
        case STEP_BROKEN:
            return TRANSPORT_BROKEN;
        }
    }
}

static enum transport_place fastcgi_place(const struct connection *connection)
{
    static const uint8_t places[] = {
        [FASTCGI_BETWEEN] = TRANSPORT_BETWEEN,
        [FASTCGI_PARAMS] = TRANSPORT_HEAD,
        [FASTCGI_STDIN] = TRANSPORT_BODY,
        [FASTCGI_COMPLETE] = TRANSPORT_COMPLETE,
    };
    const struct fastcgi *fastcgi = &connection->fastcgi;
    if (fastcgi->phase == FASTCGI_BETWEEN && !record_at_boundary(&fastcgi->parser))
        return TRANSPORT_STRAY;
    return places[fastcgi->phase];
}

static int fastcgi_late(struct connection *connection)
{
    (void)connection;
    return 0;
}

static bool fastcgi_done(struct connection *connection)
{
    connection->fastcgi.phase = FASTCGI_BETWEEN;
    return connection->fastcgi.keep;
}

/* -- the handler's side ----------------------------------------------------------------------------------------- */

static enum transport_body end_of_body(const struct request *request)
{
    return request->body_bytes < request->content_length ? TRANSPORT_BODY_CUT : TRANSPORT_BODY_END;
}

/* Nothing of the body, or of the connection, is to be had any more. */
static enum transport_body cut_body(struct connection *connection, bool keep)
{
    connection->fastcgi.keep = connection->fastcgi.keep && keep;
    connection->fastcgi.phase = FASTCGI_COMPLETE;
    return TRANSPORT_BODY_CUT;
}

static enum transport_body fastcgi_read_body(struct request *request, struct span *bytes)
{
    struct connection *connection = request->connection;
    const struct settings *settings = connection->lane->worker->settings;
    int64_t deadline_us = 0; /* records of nobody do not prolong it */
    for (;;) {
        if (connection->fastcgi.phase != FASTCGI_STDIN || request->body_bytes == request->content_length)
            return end_of_body(request);
        switch (next_step(connection, bytes)) {
        case STEP_MORE:
            if (deadline_us == 0)
                deadline_us = clock_now_us() + settings->body_timeout_us;
            else if (clock_now_us() > deadline_us && !settings->debug)
                return cut_body(connection, false); /* a peer that never pauses is never waited for */
            if (wire_receive(connection, deadline_us) <= 0)
                return cut_body(connection, false);
            break;
        case STEP_BODY:
            if (request->content_length < 0 && request_body_is_over(request, request->body_bytes)) {
                request_refuse(request, 413, "its body is over max_body");
                return TRANSPORT_BODY_CUT;
            }
            if (bytes->length > 0)
                return TRANSPORT_BODY_BYTES;
            break;
        case STEP_BODY_END:
            return end_of_body(request);
        case STEP_ON:
        case STEP_FULL:
        case STEP_HEAD:
            break;
        case STEP_ABORTED:
            request->aborted = true;
            return cut_body(connection, true);
        case STEP_CLOSE:
        case STEP_BROKEN:
            return cut_body(connection, false);
        }
    }
}

/* Looks at what is not parsed yet (as far as there was room for it), with a copy of the parser, up to where the next
 * request begins. */
static bool holds_abort(struct request *request)
{
    const struct fastcgi *fastcgi = &request->connection->fastcgi;
    struct record_parser parser = fastcgi->parser;
    struct span input = request_unparsed(request);
    struct record_piece piece;
    while (record_parse(&parser, &input, &piece) == RECORD_PIECE) {
        if (piece.id != fastcgi->id)
            continue;
        if (piece.type == RECORD_BEGIN_REQUEST)
            return false;
        if (piece.type == RECORD_ABORT_REQUEST && piece.ends_record)
            return true;
    }
    return false;
}

static bool fastcgi_is_aborted(struct request *request)
{
    if (!request->aborted) {
        wire_read_ahead(request->connection);
        request->aborted = holds_abort(request);
    }
    return request->aborted;
}

/* -- answers ---------------------------------------------------------------------------------------------------- */

static struct iovec frame_record(const struct request *request, enum record_type type, uint8_t *content, size_t length)
{
    size_t padding = (PADDING_UNIT - length % PADDING_UNIT) % PADDING_UNIT;
    uint8_t *header = content - RECORD_HEADER_BYTES;
    record_put_header(header, type, request->connection->fastcgi.id, length, padding);
    memset(content + length, 0, padding);
    return (struct iovec){.iov_base = header, .iov_len = RECORD_HEADER_BYTES + length + padding};
}

static void append_stream_end(const struct request *request, enum record_type type, struct iovec *to)
{
    to->iov_len +=
        record_put_header((uint8_t *)to->iov_base + to->iov_len, type, request->connection->fastcgi.id, 0, 0);
}

/* Writes the line into the bytes before `end`. Returns its start. */
static uint8_t *put_content_length(uint8_t *end, int64_t body_bytes)
{
    static const char name[] = "Content-Length: ";
    *--end = '\n';
    *--end = '\r';
    do {
        *--end = (uint8_t)('0' + body_bytes % 10);
        body_bytes /= 10;
    } while (body_bytes > 0);
    end -= sizeof name - 1;
    memcpy(end, name, sizeof name - 1);
    return end;
}

/* Moves the header block down and puts the line in front of its blank line: the body stays where it is. Returns the
 * line's length. */
static size_t insert_content_length(struct request *request, uint8_t *content)
{
    uint8_t line[LENGTH_LINE_BYTES], *end = line + sizeof line;
    uint8_t *line_start = put_content_length(end, request->computed_bytes);
    size_t length = (size_t)(end - line_start);
    uint8_t *blank = content + request->header.blank_at;
    memmove(content - length, content, request->header.blank_at);
    memcpy(blank - length, line_start, length);
    return length;
}

static int send_errors(struct request *request, uint8_t *content, size_t length)
{
    struct iovec record = frame_record(request, RECORD_STDERR, content, length);
    return wire_send(request->connection, &record, 1, true);
}

/* What is left of the err stream, and its end; nothing when it was not used. */
static struct iovec frame_last_errors(struct request *request)
{
    size_t length = stream_error_length(request);
    if (length == 0 && !request->error_used)
        return (struct iovec){0};
    uint8_t *content = stream_error_content(request);
    struct iovec record = {.iov_base = content, .iov_len = 0};
    if (length > 0)
        record = frame_record(request, RECORD_STDERR, content, length);
    append_stream_end(request, RECORD_STDERR, &record);
    return record;
}

static void fastcgi_frame(struct request *request, size_t header_bytes, size_t body_bytes, bool last,
                          struct iovec to[2])
{
    uint8_t *content = stream_output_content(request);
    size_t length = header_bytes + body_bytes;
    if (header_bytes > 0 && request->computed_bytes >= 0) {
        size_t inserted = insert_content_length(request, content);
        content -= inserted;
        length += inserted;
    }
    to[0] = (struct iovec){0};
    to[1] = (struct iovec){.iov_base = content, .iov_len = 0};
    if (length > 0)
        to[1] = frame_record(request, RECORD_STDOUT, content, length);
    if (!last)
        return;
    to[0] = frame_last_errors(request);
    if (request->cut)
        return;
    append_stream_end(request, RECORD_STDOUT, &to[1]);
    to[1].iov_len += record_put_end((uint8_t *)to[1].iov_base + to[1].iov_len, request->connection->fastcgi.id,
                                    (uint32_t)request->fcgx.appStatus, RECORD_REQUEST_COMPLETE);
}

const struct transport fastcgi_transport = {
    .letter = 'c',
    .half_closed_is_gone = true,
    .advance = fastcgi_advance,
    .place = fastcgi_place,
    .late = fastcgi_late,
    .done = fastcgi_done,
    .read_body = fastcgi_read_body,
    .is_aborted = fastcgi_is_aborted,
    .frame = fastcgi_frame,
    .send_errors = send_errors,
};
