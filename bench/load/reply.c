/*
 * reply.c: head, then body, hashed at once when it is there at once.
 */
#include "load/reply.h"

#include <stdlib.h>
#include <xxhash.h>

static void hash(struct reply *reply, struct span data)
{
    if (reply->state == NULL) {
        reply->state = XXH3_createState();
        CHECK(reply->state != NULL);
    }
    if (!reply->is_hashing) {
        XXH3_64bits_reset(reply->state);
        reply->is_hashing = true;
    }
    XXH3_64bits_update(reply->state, data.at, data.length);
    reply->body.length += data.length;
}

static enum response_result finish(struct reply *reply)
{
    reply->body.hash = reply->is_hashing ? XXH3_64bits_digest(reply->state) : XXH3_64bits("", 0);
    return RESPONSE_DONE;
}

static enum response_result feed_length(struct reply *reply, struct span *input)
{
    uint64_t left = reply->head.length - reply->body.length;
    if (!reply->is_hashing && input->length >= left) { /* the usual case: all of it */
        reply->body = (struct body){.length = left, .hash = XXH3_64bits(input->at, left)};
        span_take(input, left);
        return RESPONSE_DONE;
    }
    if (input->length > 0)
        hash(reply, span_take(input, input->length < left ? input->length : left));
    return reply->body.length == reply->head.length ? finish(reply) : RESPONSE_MORE;
}

static enum response_result feed_chunks(struct reply *reply, struct span *input)
{
    for (;;) {
        struct span data;
        enum response_result result = response_parse_chunk(&reply->chunks, input, &data);
        if (result == RESPONSE_DONE)
            return finish(reply);
        if (result == RESPONSE_BAD || data.length == 0)
            return result;
        hash(reply, data);
    }
}

static enum response_result feed_body(struct reply *reply, struct span *input)
{
    switch (reply->head.framing) {
    case RESPONSE_LENGTH:
        return feed_length(reply, input);
    case RESPONSE_CHUNKED:
        return feed_chunks(reply, input);
    case RESPONSE_CLOSE:
        if (input->length > 0)
            hash(reply, span_take(input, input->length));
        return RESPONSE_MORE;
    case RESPONSE_EMPTY:
        break;
    }
    return finish(reply);
}

/* A head whose beginning has come before. */
static enum response_result feed_held(struct reply *reply, struct span *input, bool to_head)
{
    size_t before = reply->held_bytes, room = RESPONSE_HEAD_MAX - before;
    size_t more = input->length < room ? input->length : room;
    if (reply->held == NULL)
        reply->held = malloc(RESPONSE_HEAD_MAX);
    CHECK(reply->held != NULL);
    memcpy(reply->held + before, input->at, more);
    reply->held_bytes = before + more;
    enum response_result result = response_parse_head(&reply->head, span_of(reply->held, reply->held_bytes), to_head);
    if (result == RESPONSE_DONE)
        span_take(input, reply->head.head_bytes - before);
    else
        span_take(input, more);
    return result;
}

static enum response_result feed_head(struct reply *reply, struct span *input, bool to_head)
{
    if (reply->held_bytes > 0)
        return feed_held(reply, input, to_head);
    enum response_result result = response_parse_head(&reply->head, *input, to_head);
    if (result == RESPONSE_MORE)
        return feed_held(reply, input, to_head);
    if (result == RESPONSE_DONE)
        span_take(input, reply->head.head_bytes);
    return result;
}

enum response_result reply_feed(struct reply *reply, struct span *input, bool to_head)
{
    size_t before = input->length;
    enum response_result result = RESPONSE_DONE;
    if (!reply->in_body) {
        result = feed_head(reply, input, to_head);
        reply->in_body = result == RESPONSE_DONE;
    }
    if (result == RESPONSE_DONE)
        result = feed_body(reply, input);
    reply->bytes += before - input->length;
    return result;
}

enum response_result reply_end(struct reply *reply)
{
    if (reply->in_body && reply->head.framing == RESPONSE_CLOSE)
        return finish(reply);
    return reply->bytes == 0 ? RESPONSE_MORE : RESPONSE_BAD;
}

void reply_reset(struct reply *reply)
{
    reply->body = (struct body){0};
    reply->chunks = (struct response_chunks){0};
    reply->bytes = 0;
    reply->held_bytes = 0;
    reply->in_body = reply->is_hashing = false;
}

void reply_fini(struct reply *reply)
{
    XXH3_freeState(reply->state);
    free(reply->held);
    *reply = (struct reply){0};
}
