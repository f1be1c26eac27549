/*
 * reply.h: one reply as its bytes come in, in whatever pieces: where it ends, how long its body is and its XXH3-64.
 *
 * Nothing of a body is kept. No I/O.
 */
#ifndef LOAD_REPLY_H
#define LOAD_REPLY_H

#include "load/body_set.h"
#include "load/response.h"

struct XXH3_state_s;

/* All zero at first. Owns its memory, which it has only once a reply came in pieces. */
struct reply {
    struct response_head head;
    struct body body;       /* hash: once it is DONE */
    uint64_t bytes;         /* so far, with the head and what frames chunks */
    bool in_body, is_hashing;
    struct response_chunks chunks;
    struct XXH3_state_s *state;
    uint8_t *held; /* the beginning of a head that is not whole */
    size_t held_bytes;
};

/* Takes the bytes of the reply off the input; what is left behind a DONE belongs to no reply. `to_head`: the request was
 * HEAD. After DONE or BAD, reply_reset begins the next. */
enum response_result reply_feed(struct reply *reply, struct span *input, bool to_head);

/* The connection has ended. Returns DONE when that is the end of the body, BAD when the reply was cut, MORE when not a byte
 * had come. */
enum response_result reply_end(struct reply *reply);

void reply_reset(struct reply *reply);
void reply_fini(struct reply *reply);

#endif
