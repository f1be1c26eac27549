/* request.c: writes the requests that the kinds are made of. */
#include "request.h"

#include "chance.h"

int request_id(void)
{
    return (int)chance_between(1, 65535);
}

int request_other_id(int id)
{
    return id % 65535 + 1;
}

struct record_request request_get(const char *path, const char *query)
{
    return (struct record_request){.id = request_id(), .flags = RECORD_KEEP, .path = path, .query = query};
}

struct record_request request_post(const char *path, const char *query, size_t body_length)
{
    struct record_request request = request_get(path, query);

    request.method = "POST";
    request.body = chance_bytes(body_length);
    request.body_length = body_length;
    return request;
}

void request_add_head(struct bytes *to, const struct record_request *request, size_t piece)
{
    struct bytes params = {0};

    record_params(&params, request);
    record_begin(to, request->id, RECORD_RESPONDER, request->flags);
    record_stream(to, RECORD_PARAMS, request->id, params.data, params.length, piece);
    bytes_fini(&params);
}

void request_add(struct bytes *to, const struct record_request *request)
{
    request_add_head(to, request, chance_piece(500));
    record_stream(to, RECORD_STDIN, request->id, request->body, request->body_length,
                  chance_piece(request->body_length));
}

void request_add_part(struct bytes *to, const struct record_request *request, size_t from, size_t length)
{
    const unsigned char *body = request->body;

    for (size_t end = from + length; from < end; from += RECORD_CONTENT_MAX)
        record_add(to, RECORD_STDIN, request->id, body + from,
                   end - from < RECORD_CONTENT_MAX ? end - from : RECORD_CONTENT_MAX);
}

void request_add_rest(struct bytes *to, const struct record_request *request, size_t from)
{
    const unsigned char *body = request->body;

    record_stream(to, RECORD_STDIN, request->id, body + from, request->body_length - from, 0);
}
