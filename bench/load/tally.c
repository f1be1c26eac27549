/*
 * tally.c: adding up.
 */
#include "load/tally.h"

#include <string.h>

const char *const tally_failures[FAILURE_KINDS] = {
    [FAILURE_STATUS] = "wrong_status", [FAILURE_LENGTH] = "wrong_length",       [FAILURE_HASH] = "wrong_hash",
    [FAILURE_FRAMING] = "bad_framing", [FAILURE_TIMEOUT] = "timeouts",          [FAILURE_CONNECT] = "connect_errors",
    [FAILURE_RESET] = "resets",        [FAILURE_CLOSED_EARLY] = "closed_early",
};

static void add_counts(struct tally *to, const struct tally *from)
{
    to->sent += from->sent;
    to->verified += from->verified;
    to->not_sent += from->not_sent;
    to->in_flight_at_start += from->in_flight_at_start;
    to->in_flight_at_end += from->in_flight_at_end;
    to->body_bytes += from->body_bytes;
    to->header_bytes += from->header_bytes;
    to->total_bytes += from->total_bytes;
    to->opened += from->opened;
    to->kept_requests += from->kept_requests;
    to->server_closes += from->server_closes;
    to->retries += from->retries;
    to->cpu_us += from->cpu_us;
    to->user_us += from->user_us;
    to->system_us += from->system_us;
    for (int i = 0; i < FAILURE_KINDS; i++)
        to->failures[i] += from->failures[i];
    for (int i = 0; i < TALLY_STATUSES; i++)
        to->statuses[i] += from->statuses[i];
}

void tally_add(struct tally *to, const struct tally *from, int64_t slots)
{
    if (from->verified > 0 && (to->verified == 0 || from->header_bytes_min < to->header_bytes_min))
        to->header_bytes_min = from->header_bytes_min;
    if (from->header_bytes_max > to->header_bytes_max)
        to->header_bytes_max = from->header_bytes_max;
    add_counts(to, from);
    timing_add(&to->time, &from->time);
    timing_add(&to->lag, &from->lag);
    if (from->ended_us > to->ended_us)
        to->ended_us = from->ended_us;
    to->stopped_early |= from->stopped_early;
    if (from->first_error[0] != '\0' && (to->first_error[0] == '\0' || from->first_error_us < to->first_error_us)) {
        to->first_error_us = from->first_error_us;
        memcpy(to->first_error, from->first_error, sizeof to->first_error);
    }
    for (int64_t i = 0; i < slots && i < TALLY_SLOTS; i++) {
        to->slots[i].verified += from->slots[i].verified;
        to->slots[i].failed += from->slots[i].failed;
    }
}

uint64_t tally_failed(const struct tally *tally)
{
    uint64_t count = 0;
    for (int i = 0; i < FAILURE_KINDS; i++)
        count += tally->failures[i];
    return count;
}
