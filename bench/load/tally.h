/*
 * tally.h: what one generating process counts, in memory that it shares with the one that adds up. All zero at first.
 */
#ifndef LOAD_TALLY_H
#define LOAD_TALLY_H

#include <stdbool.h>

#include "load/timing.h"

enum failure {
    FAILURE_STATUS,  /* a whole reply that is no 2xx */
    FAILURE_LENGTH,  /* a 2xx whose body has a length that no allowed one has */
    FAILURE_HASH,    /* one that has such a length, and is none of them */
    FAILURE_FRAMING, /* no HTTP, or bytes that belong to no reply */
    FAILURE_TIMEOUT,
    FAILURE_CONNECT,
    FAILURE_RESET,
    FAILURE_CLOSED_EARLY, /* an end in the midst of a reply, or instead of one on a new connection */
    FAILURE_KINDS,
};

/* As in the output. */
extern const char *const tally_failures[FAILURE_KINDS];

#define TALLY_STATUSES   600
#define TALLY_SLOT_MS    100
#define TALLY_SLOTS      864000 /* a day; what is later counts in the last */
#define TALLY_TEXT_BYTES 256

struct tally_slot {
    uint32_t verified, failed;
};

struct tally {
    uint64_t sent, verified, failures[FAILURE_KINDS], not_sent;
    uint64_t in_flight_at_start, in_flight_at_end;
    uint64_t statuses[TALLY_STATUSES];
    uint64_t body_bytes, header_bytes, total_bytes; /* of verified replies; total: with what frames chunks */
    uint64_t header_bytes_min, header_bytes_max;
    uint64_t opened;        /* connections that the window's requests were sent on */
    uint64_t kept_requests; /* those that were not the first of their connection */
    uint64_t server_closes; /* ends of connections that the generator would have kept, outside of replies */
    uint64_t retries;       /* requests that met such an end, and were sent again */
    int64_t cpu_us, user_us, system_us; /* of the process, in the window */
    int64_t ended_us;
    bool stopped_early, is_complete;
    int64_t first_error_us;
    char first_error[TALLY_TEXT_BYTES]; /* empty: none */
    struct timing time, lag;
    struct tally_slot slots[TALLY_SLOTS];
};

static inline struct tally_slot *tally_slot_at(struct tally *tally, int64_t since_start_us)
{
    int64_t slot = since_start_us / (TALLY_SLOT_MS * INT64_C(1000));
    return &tally->slots[slot < 0 ? 0 : slot < TALLY_SLOTS ? slot : TALLY_SLOTS - 1];
}

/* Adds another process's figures, of its slots the first `slots`. */
void tally_add(struct tally *to, const struct tally *from, int64_t slots);

uint64_t tally_failed(const struct tally *tally);

#endif
