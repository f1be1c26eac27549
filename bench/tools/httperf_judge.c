/*
 * httperf_judge.c: whether a run of httperf counts, and what limited it. Pure; each rule is a function, each reason
 * names its numbers.
 */
#include <math.h>

#include "tools/httperf.h"

#define CONTRADICTION   0.02 /* between its own figures */
#define RATE_ROUNDING   0.06
#define TIME_ROUNDING_S 0.0006

static long long number(int64_t count)
{
    return (long long)count;
}

static void judge_error(int64_t count, const char *what, struct ruling *ruling)
{
    if (count > 0)
        ruling_void(ruling, "%lld %s", number(count), what);
}

/* An address that is not available is never counted as such by httperf: it is among the others. */
static void judge_errors(const struct httperf_reading *reading, struct ruling *ruling)
{
    judge_error(reading->client_timeouts, "requests timed out (client-timo)", ruling);
    judge_error(reading->socket_timeouts, "connections timed out (socket-timo)", ruling);
    judge_error(reading->refused, "connections were refused (connrefused)", ruling);
    judge_error(reading->reset, "connections were reset or closed early (connreset)", ruling);
    judge_error(reading->descriptors_unavailable, "connections found no descriptor that select can take (fd-unavail)",
                ruling);
    judge_error(reading->addresses_unavailable, "connections found no address (addrunavail)", ruling);
    judge_error(reading->table_full, "connections found the system's table of files full (ftab-full)", ruling);
    judge_error(reading->other, "other errors, perhaps no port free (other)", ruling);
    if (reading->errors > 0 && ruling->reason_count == 0)
        ruling_void(ruling, "%lld errors of no kind that is named", number(reading->errors));
}

static void judge_amount(const struct httperf_reading *reading, const struct tool_settings *settings,
                         struct ruling *ruling)
{
    double asked = (double)reading->asked_connections * (double)reading->asked_calls;
    if (reading->replies == 0)
        ruling_fail(ruling, "httperf got no reply");
    if (reading->replies < reading->requests)
        ruling_void(ruling, "%lld of %lld requests had no reply", number(reading->requests - reading->replies),
                    number(reading->requests));
    if ((double)reading->replies != asked)
        ruling_void(ruling, "%lld replies came, not the %.0f that were asked for", number(reading->replies), asked);
    if (settings->requests > 0 && asked != (double)settings->requests)
        ruling_void(ruling, "httperf was asked for %.0f requests, not for %lld", asked, number(settings->requests));
}

static void judge_replies(const struct httperf_reading *reading, const struct tool_settings *settings,
                          struct ruling *ruling)
{
    if (reading->replies_2xx != reading->replies)
        ruling_void(ruling, "%lld of %lld replies had another status than 2xx (1xx %lld, 3xx %lld, 4xx %lld, 5xx %lld)",
                    number(reading->replies - reading->replies_2xx), number(reading->replies),
                    number(reading->replies_1xx), number(reading->replies_3xx), number(reading->replies_4xx),
                    number(reading->replies_5xx));
    if (!settings->variable_length && settings->body_bytes >= 0 && reading->replies > 0 &&
        reading->content_bytes != (double)settings->body_bytes)
        ruling_void(ruling, "the replies' bodies had %.1f bytes on average, not %lld", reading->content_bytes,
                    number(settings->body_bytes));
    if (reading->asked_recv_buffer_bytes >= 0 && settings->recv_buffer_bytes == 0 &&
        reading->asked_recv_buffer_bytes < settings->body_bytes && settings->body_bytes < 1 << 20)
        ruling_void(ruling, "the receive buffer of %lld bytes was smaller than the page of %lld",
                    number(reading->asked_recv_buffer_bytes), number(settings->body_bytes));
}

static void judge_connections(const struct httperf_reading *reading, const struct tool_settings *settings,
                              struct ruling *ruling)
{
    double mean = httperf_limits(reading, settings).mean_concurrency;
    if (settings->keep_alive && reading->asked_calls > 1 && reading->replies_per_connection == 1)
        ruling_void(ruling, "each connection ended after one reply; perhaps the replies have no Content-Length");
    if (settings->keep_alive && reading->concurrent_max != settings->concurrency)
        ruling_void(ruling, "%lld connections were open at once, not %d", number(reading->concurrent_max),
                    settings->concurrency);
    else if (settings->keep_alive && !(mean >= HTTPERF_CONCURRENCY_MIN * settings->concurrency))
        ruling_void(ruling, "on average %.1f connections were open, not %d: too few requests for each", mean,
                    settings->concurrency);
    if (reading->connection_max_ms >= HTTPERF_HELD_S_MAX * 1000.0)
        ruling_void(ruling, "a connection was held for %.0f s: from %d s on httperf writes beyond an array",
                    reading->connection_max_ms / 1000, HTTPERF_HELD_S_MAX);
}

static void judge_figures(const struct httperf_reading *reading, struct ruling *ruling)
{
    double sent = reading->requests_per_s * reading->duration_s;
    double rounding = reading->requests_per_s * TIME_ROUNDING_S + RATE_ROUNDING * reading->duration_s;
    if (!(reading->duration_s > 0))
        ruling_fail(ruling, "httperf's test took no time that it could tell");
    else if (!(fabs(sent - (double)reading->requests) <= CONTRADICTION * (double)reading->requests + rounding))
        ruling_fail(ruling, "httperf's figures contradict each other: %lld requests in %.3f s are not %.1f per second",
                    number(reading->requests), reading->duration_s, reading->requests_per_s);
}

struct httperf_limits httperf_limits(const struct httperf_reading *reading, const struct tool_settings *settings)
{
    struct httperf_limits limits = {
        .demanded_per_s = reading->asked_per_s,
        .achieved_per_s = reading->connections_per_s,
        .connect_burst = reading->connect_burst,
        .mean_concurrency = NAN,
    };
    bool is_late = !settings->keep_alive && limits.achieved_per_s < HTTPERF_ACHIEVED_MIN * limits.demanded_per_s;
    if (reading->duration_s > 0)
        limits.mean_concurrency =
            (double)reading->connections * reading->connection_avg_ms / 1000 / reading->duration_s;
    limits.generator_limited = reading->connect_burst > HTTPERF_BURST_MAX || (is_late && reading->errors == 0);
    return limits;
}

void httperf_judge(const struct httperf_reading *reading, const struct tool_settings *settings,
                   const struct tool_exit *ended, struct ruling *ruling)
{
    tool_judge_exit("httperf", ended, ruling);
    if (ruling->status == RULING_FAILED)
        return;
    if (reading->fault != NULL) {
        ruling_fail(ruling, "httperf's output is not whole: %s", reading->fault);
        return;
    }
    judge_errors(reading, ruling);
    judge_amount(reading, settings, ruling);
    judge_replies(reading, settings, ruling);
    judge_connections(reading, settings, ruling);
    judge_figures(reading, ruling);
}
