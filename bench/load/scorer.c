/*
 * scorer.c: what is right, and what is wrong with the rest.
 */
#include "load/scorer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

bool scorer_counts(const struct scorer *scorer, const struct client *client)
{
    const struct driver_shared *shared = scorer->shared;
    if (scorer->now_us < shared->window_start_us || scorer->now_us >= shared->window_end_us)
        return false;
    return scorer->options->requests == 0 || client->start_us >= shared->window_start_us;
}

/* Those that end behind the window, before the process has seen its end. */
static void note_late_end(struct scorer *scorer, const struct client *client)
{
    if (scorer->now_us >= scorer->shared->window_end_us && client->is_counted && !client->is_late)
        scorer->tally->in_flight_at_end++;
}

static void explain(struct scorer *scorer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void explain(struct scorer *scorer, const char *format, ...)
{
    va_list arguments;
    if (scorer->tally->first_error[0] != '\0')
        return;
    scorer->tally->first_error_us = scorer->now_us;
    va_start(arguments, format);
    vsnprintf(scorer->tally->first_error, sizeof scorer->tally->first_error, format, arguments);
    va_end(arguments);
}

static void explain_failure(struct scorer *scorer, const struct client *client, enum failure kind, int error)
{
    const char *name = tally_failures[kind];
    char body[BODY_TEXT_BYTES], standard[BODY_TEXT_BYTES] = "";
    const struct reply *reply = &client->reply;
    if (kind == FAILURE_STATUS) {
        explain(scorer, "%s: status %d", name, reply->head.status);
    } else if (kind == FAILURE_LENGTH || kind == FAILURE_HASH) {
        struct body allowed = {scorer->shared->standard_length - 1, scorer->shared->standard_hash};
        body_set_print(body, reply->body);
        body_set_print(standard, scorer->options->expected.count > 0 ? scorer->options->expected.bodies[0] : allowed);
        explain(scorer, "%s: a body %s; allowed: %s%s", name, body, standard,
                scorer->options->expected.count > 1 ? " and others" : "");
    } else if (kind == FAILURE_TIMEOUT) {
        explain(scorer, "%s: after %.3g s, %" PRIu64 " bytes of the reply had come", name,
                (double)scorer->options->timeout_us / 1e6, reply->bytes);
    } else if (kind == FAILURE_CONNECT) {
        explain(scorer, "%s: %s%s", name, strerror(error),
                error == EADDRNOTAVAIL ? ": all ports of the source address are taken; --source has more addresses"
                                       : "");
    } else {
        explain(scorer, "%s: after %" PRIu64 " bytes of the reply, reply %u of the connection", name, reply->bytes,
                client->replies + 1);
    }
}

static void fail(struct scorer *scorer, const struct client *client, enum failure kind, int error)
{
    if (!scorer_counts(scorer, client))
        return;
    scorer->tally->failures[kind]++;
    tally_slot_at(scorer->tally, scorer->now_us - scorer->shared->window_start_us)->failed++;
    explain_failure(scorer, client, kind, error);
}

void scorer_failure(struct scorer *scorer, const struct client *client, enum failure kind, int error)
{
    scorer->now_us = clock_now_us();
    note_late_end(scorer, client);
    fail(scorer, client, kind, error);
}

void scorer_sent(struct scorer *scorer, struct client *client)
{
    client->is_counted = true;
    client->is_late = scorer->now_us >= scorer->shared->window_end_us;
    if (!scorer_counts(scorer, client))
        return;
    scorer->tally->opened += !client->is_used;
    client->is_used = true;
    if (client->is_retry)
        return;
    scorer->tally->sent++;
    scorer->tally->kept_requests += client->replies > 0;
    if (scorer->options->rate_per_s > 0)
        timing_record(&scorer->tally->lag, scorer->now_us - client->start_us);
}

/* Against the first body that came, when none was given. */
static enum body_match match_standard(struct driver_shared *shared, struct body body)
{
    uint64_t none = 0, mine = body.hash != 0 ? body.hash : 1;
    uint64_t standard = atomic_load_explicit(&shared->standard_hash, memory_order_relaxed);
    if (standard == 0 && atomic_compare_exchange_strong(&shared->standard_hash, &none, mine)) {
        atomic_store(&shared->standard_length, body.length + 1);
        return BODY_RIGHT;
    }
    standard = atomic_load_explicit(&shared->standard_hash, memory_order_relaxed);
    uint64_t length = atomic_load_explicit(&shared->standard_length, memory_order_relaxed);
    if (length != 0 && length != body.length + 1)
        return BODY_WRONG_LENGTH;
    return standard == mine ? BODY_RIGHT : BODY_WRONG_HASH;
}

static void count_verified(struct scorer *scorer, const struct client *client, size_t index)
{
    struct tally *tally = scorer->tally;
    const struct reply *reply = &client->reply;
    uint64_t head = reply->head.head_bytes;
    if (tally->verified == 0 || head < tally->header_bytes_min)
        tally->header_bytes_min = head;
    if (head > tally->header_bytes_max)
        tally->header_bytes_max = head;
    tally->verified++;
    tally->body_bytes += reply->body.length;
    tally->header_bytes += head;
    tally->total_bytes += reply->bytes;
    timing_record(&tally->time, scorer->now_us - client->start_us);
    tally_slot_at(tally, scorer->now_us - scorer->shared->window_start_us)->verified++;
    if (!atomic_load_explicit(&scorer->seen[index], memory_order_relaxed))
        atomic_store_explicit(&scorer->seen[index], 1, memory_order_relaxed);
}

void scorer_reply(struct scorer *scorer, const struct client *client)
{
    const struct reply *reply = &client->reply;
    size_t index = 0;
    scorer->now_us = clock_now_us();
    note_late_end(scorer, client);
    if (scorer_counts(scorer, client))
        scorer->tally->statuses[reply->head.status]++;
    if (reply->head.status / 100 != 2) {
        fail(scorer, client, FAILURE_STATUS, 0);
        return;
    }
    enum body_match match = scorer->options->expected.count > 0
                                ? body_set_match(&scorer->options->expected, reply->body, &index)
                                : match_standard(scorer->shared, reply->body);
    if (match != BODY_RIGHT)
        fail(scorer, client, match == BODY_WRONG_LENGTH ? FAILURE_LENGTH : FAILURE_HASH, 0);
    else if (scorer_counts(scorer, client))
        count_verified(scorer, client, index);
}
