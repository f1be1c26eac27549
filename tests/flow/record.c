/* record.c: builds FastCGI records in memory. It does not send them: link.c does. */
#include "record.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void record_head(struct bytes *to, int version, int type, int id, size_t length, int padding)
{
    const unsigned char head[RECORD_HEAD] = {
        (unsigned char)version,       (unsigned char)type,   (unsigned char)(id >> 8), (unsigned char)id,
        (unsigned char)(length >> 8), (unsigned char)length, (unsigned char)padding,   0,
    };

    bytes_add(to, head, sizeof head);
}

void record_add(struct bytes *to, int type, int id, const void *content, size_t length)
{
    record_add_padded(to, type, id, content, length, 0);
}

void record_add_padded(struct bytes *to, int type, int id, const void *content, size_t length, int padding)
{
    record_head(to, 1, type, id, length, padding);
    bytes_add(to, content, length);
    bytes_add_fill(to, 0xEE, (size_t)padding);
}

void record_add_version(struct bytes *to, int version, int type, int id, const void *content, size_t length)
{
    record_head(to, version, type, id, length, 0);
    bytes_add(to, content, length);
}

void record_begin(struct bytes *to, int id, int role, int flags)
{
    const unsigned char content[8] = {(unsigned char)(role >> 8), (unsigned char)role, (unsigned char)flags};

    record_add(to, RECORD_BEGIN, id, content, sizeof content);
}

void record_stream(struct bytes *to, int type, int id, const void *content, size_t length, size_t piece)
{
    const unsigned char *at = content;

    if (piece == 0 || piece > RECORD_CONTENT_MAX)
        piece = RECORD_CONTENT_MAX;
    while (length > 0) {
        size_t part = length < piece ? length : piece;

        record_add(to, type, id, at, part);
        at += part;
        length -= part;
    }
    record_add(to, type, id, NULL, 0);
}

static void record_length(struct bytes *params, size_t length, bool four_bytes)
{
    const unsigned char form[4] = {(unsigned char)(length >> 24 | 0x80), (unsigned char)(length >> 16),
                                   (unsigned char)(length >> 8), (unsigned char)length};

    if (four_bytes || length > 127) {
        bytes_add(params, form, 4);
    } else {
        bytes_add(params, form + 3, 1);
    }
}

void record_pair_bytes(struct bytes *params, const void *name, size_t name_length, const void *value,
                       size_t value_length)
{
    record_length(params, name_length, false);
    record_length(params, value_length, false);
    bytes_add(params, name, name_length);
    bytes_add(params, value, value_length);
}

void record_pair(struct bytes *params, const char *name, const char *value)
{
    record_pair_bytes(params, name, strlen(name), value, strlen(value));
}

void record_pair_long(struct bytes *params, const char *name, const char *value)
{
    record_length(params, strlen(name), true);
    record_length(params, strlen(value), true);
    bytes_add(params, name, strlen(name));
    bytes_add(params, value, strlen(value));
}

void record_params(struct bytes *params, const struct record_request *request)
{
    const char *query = request->query ? request->query : "";
    const char *method = request->method ? request->method : request->body_length ? "POST" : "GET";
    char length[24], uri[512];

    snprintf(uri, sizeof uri, "%s%s%s", request->path, *query ? "?" : "", query);
    snprintf(length, sizeof length, "%zu", request->body_length);
    record_pair(params, "GATEWAY_INTERFACE", "CGI/1.1");
    record_pair(params, "REQUEST_METHOD", method);
    record_pair(params, "SCRIPT_NAME", request->path);
    record_pair(params, "REQUEST_URI", uri);
    record_pair(params, "QUERY_STRING", query);
    record_pair(params, "SERVER_PROTOCOL", "HTTP/1.1");
    record_pair(params, "REMOTE_ADDR", "127.0.0.1");
    if (request->type)
        record_pair(params, "CONTENT_TYPE", request->type);
    if (!request->no_content_length)
        record_pair(params, "CONTENT_LENGTH", request->body_length ? length : "");
}

void record_whole(struct bytes *to, const struct record_request *request)
{
    struct bytes params = {0};
    int id = request->id ? request->id : 1;

    record_params(&params, request);
    record_begin(to, id, RECORD_RESPONDER, request->flags);
    record_stream(to, RECORD_PARAMS, id, params.data, params.length, 0);
    record_stream(to, RECORD_STDIN, id, request->body, request->body_length, 0);
    bytes_fini(&params);
}

size_t record_forged(struct bytes *to, const char *path, size_t length, size_t shift)
{
    struct bytes one = {0};
    size_t period;

    record_whole(&one, &(struct record_request){.flags = RECORD_KEEP, .path = path});
    period = one.length;
    bytes_clear(to);
    bytes_add(to, one.data + period - shift % period, shift % period);
    while (to->length < length)
        bytes_add(to, one.data, period);
    to->length = length;
    bytes_fini(&one);
    return period;
}
