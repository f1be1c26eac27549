/*
 * httperf.h: httperf 0.9.0 as a witness: its command, what it printed, whether that counts, and what limited it.
 *
 * It spins, so its CPU says nothing about who was the limit: httperf_limits has what does.
 */
#ifndef BENCH_TOOLS_HTTPERF_H
#define BENCH_TOOLS_HTTPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

#define HTTPERF_CONNECTIONS_MAX   1000  /* it selects, on at most 1024 descriptors */
#define HTTPERF_CONNECTIONS_PER_S 1000
#define HTTPERF_RECV_BUFFER_BYTES 16384 /* its own default */
#define HTTPERF_HELD_S_MAX        100   /* of a connection: then it writes beyond an array */
#define HTTPERF_BURST_MAX         5     /* connections started at once before it counts as being late */
#define HTTPERF_ACHIEVED_MIN      0.95  /* of the demanded rate */
#define HTTPERF_CONCURRENCY_MIN   0.8   /* of the asked concurrency, on average over the run */

/* A count that was not printed is −1, a real number NAN. */
struct httperf_reading {
    const char *fault; /* why the output is not whole, a sentence; NULL: it is */

    /* What it was asked to do, as it repeats it in its first line; −1 and NAN where it does not. */
    int64_t asked_connections, asked_calls; /* calls: requests of each connection */
    double asked_per_s;                     /* connections; 0: one after the other */
    int64_t asked_recv_buffer_bytes;

    int64_t connect_burst; /* maximum connect burst length */
    int64_t connections, requests, replies;
    double duration_s;
    double connections_per_s;
    int64_t concurrent_max; /* connections at the same time */
    double connection_min_ms, connection_avg_ms, connection_max_ms, connection_median_ms;
    double connect_ms;
    double replies_per_connection;
    double requests_per_s; /* sent, answered or not */
    /* Replies per second, from samples of 5 s; all NAN when there were none (runs under 5 s). */
    double sampled_min, sampled_avg, sampled_max;
    int64_t samples;
    double response_ms, transfer_ms;
    double header_bytes, content_bytes; /* means, cut to whole bytes: one short reply in a million takes one off */
    int64_t replies_1xx, replies_2xx, replies_3xx, replies_4xx, replies_5xx;
    int64_t errors; /* all kinds */
    int64_t client_timeouts, socket_timeouts, refused, reset;
    int64_t descriptors_unavailable, addresses_unavailable, table_full, other;
};

struct httperf_limits {
    double demanded_per_s; /* connections */
    double achieved_per_s; /* means something without keep-alive only: with it, connections are few and long */
    int64_t connect_burst;
    double mean_concurrency; /* connections × their mean time ÷ duration; NAN when not known */
    bool generator_limited; /* a long burst, or without keep-alive fewer connections per second than demanded */
};

/* Writes the command. Returns 0; or −1 when httperf cannot do what is asked, with command->why saying why.
 * With keep-alive, `concurrency` connections share the requests; without, there is one connection for each request and
 * connections_per_s says how many start in a second. Requests that are asked for must divide evenly; those chosen from
 * the rate are rounded up, and down to what requests_per_connection allows. */
int httperf_command(const struct tool_settings *settings, struct tool_command *command) MUST_CHECK;

/* Reads what httperf printed on standard output. Borrows nothing, allocates nothing, reads no byte beyond `size`.
 * Returns 0 when the output is whole, −1 with reading->fault when not; what was read until then is in the reading. */
int httperf_read(const char *output, size_t size, struct httperf_reading *reading) MUST_CHECK;

/* Replies ÷ duration, the only rate of it that means the same as the other instruments'. NAN when it is not known. */
double httperf_rate_per_s(const struct httperf_reading *reading);

/* What limited it. */
struct httperf_limits httperf_limits(const struct httperf_reading *reading, const struct tool_settings *settings);

/* Adds to the ruling (ruling_init is the caller's) all that speaks against the run. `reading` is that of httperf_read,
 * whether or not it succeeded. */
void httperf_judge(const struct httperf_reading *reading, const struct tool_settings *settings,
                   const struct tool_exit *ended, struct ruling *ruling);

#endif
