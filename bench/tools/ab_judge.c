/*
 * ab_judge.c: whether a run of ab counts. Pure; each rule is a function, each reason names its numbers.
 */
#include <math.h>

#include "tools/ab.h"

#define TIME_MIN         0.9  /* of the time that was asked for */
#define CONTRADICTION    0.01 /* between its own figures */
#define TAKEN_ROUNDING_S 0.001
#define FIGURE_ROUNDING  0.006

static long long number(int64_t count)
{
    return (long long)count;
}

static void judge_failures(const struct ab_reading *reading, struct ruling *ruling)
{
    if (reading->failed > 0 && reading->failed_connect >= 0)
        ruling_void(ruling,
                    "%lld failed (connect %lld, receive %lld, length %lld, exceptions %lld), which ab's rate counts",
                    number(reading->failed), number(reading->failed_connect), number(reading->failed_receive),
                    number(reading->failed_length), number(reading->failed_exceptions));
    else if (reading->failed > 0)
        ruling_void(ruling, "%lld requests failed, which ab's rate counts", number(reading->failed));
    if (reading->non_2xx >= 0)
        ruling_void(ruling, "%lld of %lld replies had another status than 2xx, which ab's rate counts",
                    number(reading->non_2xx), number(reading->complete));
    if (reading->write_errors >= 0)
        ruling_void(ruling, "%lld requests could not be written", number(reading->write_errors));
}

static void judge_amount(const struct ab_reading *reading, const struct tool_settings *settings, struct ruling *ruling)
{
    if (reading->complete == 0)
        ruling_fail(ruling, "ab completed no request");
    else if (settings->requests > 0 && reading->complete != settings->requests)
        ruling_void(ruling, "%lld requests were completed, not the %lld that were asked for", number(reading->complete),
                    number(settings->requests));
    if (settings->requests == 0 && reading->taken_s < TIME_MIN * settings->seconds)
        ruling_void(ruling, "ab ended after %.3f s instead of %.1f s", reading->taken_s, settings->seconds);
    if (reading->concurrency != settings->concurrency)
        ruling_void(ruling, "ab ran with %lld requests at once, not %d", number(reading->concurrency),
                    settings->concurrency);
}

/* ab compares every length with that of the first reply, not with the right one. */
static void judge_length(const struct ab_reading *reading, const struct tool_settings *settings, struct ruling *ruling)
{
    if (settings->variable_length)
        return;
    if (reading->document_bytes == AB_VARIABLE)
        ruling_void(ruling, "ab compared no lengths: it ran with -l, for a page of fixed length");
    else if (settings->body_bytes >= 0 && reading->document_bytes != settings->body_bytes)
        ruling_void(ruling, "the first reply, which ab compares the others with, had %lld bytes, not %lld",
                    number(reading->document_bytes), number(settings->body_bytes));
}

/* Where no connection is kept at all, it is rarely the server's limit. */
static const char *suspected_cause(const struct ab_reading *reading)
{
    return reading->keep_alive == 0 ? "; perhaps the replies have no Content-Length, or no Keep-Alive for HTTP/1.0"
                                    : "";
}

static void judge_reuse(const struct ab_reading *reading, const struct tool_settings *settings, struct ruling *ruling)
{
    int64_t per_connection = settings->requests_per_connection;
    int64_t closes = per_connection > 0 ? reading->complete / per_connection : 0;
    if (!settings->keep_alive && reading->keep_alive > 0)
        ruling_void(ruling, "%lld connections were kept, although each request was to have its own",
                    number(reading->keep_alive));
    if (!settings->keep_alive)
        return;
    if (reading->keep_alive < 0)
        ruling_void(ruling, "no count of Keep-Alive requests: it ran without -k");
    else if (reading->keep_alive < reading->complete - closes)
        ruling_void(ruling, "only %lld of %lld replies left their connection open (%lld closes were expected)%s",
                    number(reading->keep_alive), number(reading->complete), number(closes), suspected_cause(reading));
}

static bool differ(double a, double b, double rounding)
{
    return fabs(a - b) > CONTRADICTION * fmax(fabs(a), fabs(b)) + rounding;
}

/* The first "Time per request" is the mean time at this concurrency, the second the inverse of the rate: figures that
 * say otherwise were not read as they were meant. */
static void judge_figures(const struct ab_reading *reading, struct ruling *ruling)
{
    double rate = reading->requests_per_s;
    if (!(rate > 0) || !(reading->taken_s >= 0)) {
        ruling_fail(ruling, "ab printed no rate");
        return;
    }
    if (differ(rate * reading->taken_s, (double)reading->complete, rate * TAKEN_ROUNDING_S))
        ruling_fail(ruling, "ab's figures contradict each other: %lld requests in %.3f s are not %.2f per second",
                    number(reading->complete), reading->taken_s, rate);
    if (differ(reading->request_ms, (double)reading->concurrency * 1000 / rate, FIGURE_ROUNDING) ||
        differ(reading->across_request_ms, 1000 / rate, FIGURE_ROUNDING))
        ruling_fail(ruling, "ab's figures contradict each other: %.3f ms and %.3f ms per request at %.2f per second",
                    reading->request_ms, reading->across_request_ms, rate);
}

void ab_judge(const struct ab_reading *reading, const struct tool_settings *settings, const struct tool_exit *ended,
              struct ruling *ruling)
{
    tool_judge_exit("ab", ended, ruling);
    if (ruling->status == RULING_FAILED)
        return;
    if (reading->fault != NULL) {
        ruling_fail(ruling, "ab's output is not whole: %s", reading->fault);
        return;
    }
    judge_failures(reading, ruling);
    judge_amount(reading, settings, ruling);
    judge_length(reading, settings, ruling);
    judge_reuse(reading, settings, ruling);
    judge_figures(reading, ruling);
}
