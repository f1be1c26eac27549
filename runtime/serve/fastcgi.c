/*
 * fastcgi.c: turns records into requests and answers into records. Runs on the lane that has the connection, and on a
 * handler's thread for the body and the answer of its request. Decides nothing about sockets or threads.
 */
#include "serve/fastcgi.h"

#include <stdio.h>

#include "base/check.h"
#include "base/log.h"
#include "serve/connection.h"
#include "serve/request.h"
#include "serve/wire.h"
#include "serve/worker.h"

#define PADDING_UNIT   8
#define SKIP_MAX_BYTES (16u << 20) /* of a body that nobody read; after that the connection is closed */

/* What one piece of a record meant for the request at hand. */
enum step { STEP_ON, STEP_FULL, STEP_MORE, STEP_HEAD, STEP_BODY, STEP_BODY_END, STEP_ABORTED, STEP_CLOSE, STEP_BROKEN };

static enum step broken(const char *what)
{
    log_warning("fastcgi", "closing a connection: %s", what);
    return STEP_BROKEN;
}

/* A lane keeps what a full socket does not take; a handler's thread waits. */
static enum step reply(struct connection *connection, uint8_t *bytes, size_t length)
{
    struct request *request = connection->request;
    struct iovec *unsent = &request->unsent[0];
    *unsent = (struct iovec){.iov_base = bytes, .iov_len = length};
    int result = wire_send(connection, unsent, 1, connection->state == CONNECTION_HANDLING);
    if (result == 1) {
        CHECK(unsent->iov_len <= sizeof request->reply);
        unsent->iov_base = memcpy(request->reply, unsent->iov_base, unsent->iov_len);
    }
    if (result < 0)
        *unsent = (struct iovec){0};
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

static enum step on_params(struct connection *connection, const struct record_piece *piece)
{
    struct request *request = connection->request;
    const struct worker *worker = connection->lane->worker;
    if (piece->content_length == 0) {
        connection->fastcgi.phase = FASTCGI_STDIN;
        request_open(request, &worker->routes);
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

enum fastcgi_event fastcgi_advance(struct connection *connection)
{
    struct span bytes;
    for (;;) {
        switch (next_step(connection, &bytes)) {
        case STEP_MORE:
            return FASTCGI_MORE;
        case STEP_HEAD:
            if (is_body_enough(connection->request))
                return FASTCGI_READY;
            break;
        case STEP_BODY:
            if (gather_body(connection->request, bytes))
                return FASTCGI_READY;
            break;
        case STEP_BODY_END:
            return FASTCGI_READY;
        case STEP_ABORTED:
            return reply_aborted(connection) != STEP_BROKEN ? FASTCGI_ABORTED : FASTCGI_BROKEN;
        case STEP_FULL:
            return FASTCGI_FULL;
        case STEP_CLOSE:
            connection->fastcgi.keep = false;
            return FASTCGI_ABORTED;
        case STEP_ON:
        case STEP_BROKEN:
            return FASTCGI_BROKEN;
        }
    }
}

bool fastcgi_is_between(const struct connection *connection)
{
    return connection->fastcgi.phase == FASTCGI_BETWEEN && record_at_boundary(&connection->fastcgi.parser);
}

bool fastcgi_done(struct connection *connection)
{
    connection->fastcgi.phase = FASTCGI_BETWEEN;
    return connection->fastcgi.keep;
}

/* -- the handler's side ----------------------------------------------------------------------------------------- */

static enum fastcgi_body end_of_body(const struct request *request)
{
    return request->body_bytes < request->content_length ? FASTCGI_BODY_CUT : FASTCGI_BODY_END;
}

/* Nothing of the body, or of the connection, is to be had any more. */
static enum fastcgi_body cut_body(struct connection *connection, bool keep)
{
    connection->fastcgi.keep = connection->fastcgi.keep && keep;
    connection->fastcgi.phase = FASTCGI_COMPLETE;
    return FASTCGI_BODY_CUT;
}

enum fastcgi_body fastcgi_read_body(struct request *request, struct span *bytes)
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
            if (request->content_length < 0 && request_body_is_over(request, request->body_bytes))
                return FASTCGI_BODY_CUT;
            if (bytes->length > 0)
                return FASTCGI_BODY_BYTES;
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

/* Looks at what is not parsed yet, with a copy of the parser, up to where the next request begins. */
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

bool fastcgi_is_aborted(struct request *request)
{
    if (!request->aborted) {
        wire_read_ahead(request->connection);
        request->aborted = holds_abort(request);
    }
    return request->aborted;
}

/* -- answers ---------------------------------------------------------------------------------------------------- */

struct iovec fastcgi_frame(const struct request *request, enum record_type type, uint8_t *content, size_t length)
{
    size_t padding = (PADDING_UNIT - length % PADDING_UNIT) % PADDING_UNIT;
    uint8_t *header = content - RECORD_HEADER_BYTES;
    record_put_header(header, type, request->connection->fastcgi.id, length, padding);
    memset(content + length, 0, padding);
    return (struct iovec){.iov_base = header, .iov_len = RECORD_HEADER_BYTES + length + padding};
}

size_t fastcgi_put_stream_end(const struct request *request, enum record_type type, uint8_t *to)
{
    return record_put_header(to, type, request->connection->fastcgi.id, 0, 0);
}

size_t fastcgi_put_end(const struct request *request, uint8_t *to)
{
    return record_put_end(to, request->connection->fastcgi.id, (uint32_t)request->fcgx.appStatus,
                          RECORD_REQUEST_COMPLETE);
}
