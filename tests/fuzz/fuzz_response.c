/*
 * fuzz_response.c: libFuzzer entry for the load generator's reading of replies.
 *
 * The first byte says how the rest is cut, and whether the request was HEAD. Whatever the cuts, the same is understood;
 * a body is no longer than what came, and has the hash of its bytes.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "base/check.h"
#include "load/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    enum response_result result, at_end;
    struct response_head head;
    struct body body;
    size_t used;
};

/* Each piece is a copy of its own, so that a byte read beyond it is seen. */
static enum response_result feed(struct reply *reply, const uint8_t *data, size_t length, bool to_head, size_t *used)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);
    CHECK(copy != NULL);
    memcpy(copy, data, length);
    struct span input = span_of(copy, length);
    enum response_result result = reply_feed(reply, &input, to_head);
    CHECK(input.length <= length && (result != RESPONSE_MORE || input.length == 0));
    *used += length - input.length;
    free(copy);
    return result;
}

static struct outcome read_reply(const uint8_t *data, size_t size, size_t piece, bool to_head)
{
    struct reply reply = {0};
    struct outcome outcome = {.result = RESPONSE_MORE, .at_end = RESPONSE_BAD};
    for (size_t at = 0; at < size && outcome.result == RESPONSE_MORE; at += piece)
        outcome.result = feed(&reply, data + at, size - at < piece ? size - at : piece, to_head, &outcome.used);
    CHECK(reply.bytes == outcome.used);
    if (outcome.result == RESPONSE_MORE)
        outcome.at_end = reply_end(&reply);
    if (outcome.result == RESPONSE_DONE || outcome.at_end == RESPONSE_DONE) {
        outcome.head = reply.head;
        outcome.body = reply.body;
    }
    reply_fini(&reply);
    return outcome;
}

static void check_outcome(const struct outcome *outcome, const uint8_t *data, bool to_head)
{
    const struct response_head *head = &outcome->head;
    CHECK(head->status >= 200 && head->status <= 599 && head->head_bytes <= RESPONSE_HEAD_MAX);
    CHECK(head->head_bytes + outcome->body.length <= outcome->used);
    CHECK(memcmp(data + head->head_bytes - 4, "\r\n\r\n", 4) == 0);
    CHECK(!to_head || head->framing == RESPONSE_EMPTY);
    CHECK(head->framing != RESPONSE_EMPTY || outcome->body.length == 0);
    CHECK(head->framing != RESPONSE_LENGTH || outcome->body.length == head->length);
    CHECK((head->framing == RESPONSE_CLOSE) == (outcome->result == RESPONSE_MORE));
    if (head->framing != RESPONSE_CHUNKED)
        CHECK(outcome->body.hash == XXH3_64bits(data + head->head_bytes, outcome->body.length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool to_head = data[0] & 1;
    size_t piece = (size_t)(data[0] >> 1) + 1 + size / 256;
    struct outcome whole = read_reply(data + 1, size - 1, size, to_head);
    struct outcome parts = read_reply(data + 1, size - 1, piece, to_head);
    CHECK(whole.result == parts.result && whole.at_end == parts.at_end);
    if (whole.result != RESPONSE_DONE && whole.at_end != RESPONSE_DONE)
        return 0;
    CHECK(whole.used == parts.used && whole.body.length == parts.body.length && whole.body.hash == parts.body.hash);
    CHECK(whole.head.status == parts.head.status && whole.head.framing == parts.head.framing &&
          whole.head.length == parts.head.length && whole.head.keep_alive == parts.head.keep_alive &&
          whole.head.head_bytes == parts.head.head_bytes);
    check_outcome(&whole, data + 1, to_head);
    return 0;
}
