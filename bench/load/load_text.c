/*
 * load_text.c: the report for people (load_report.h).
 */
#include <inttypes.h>

#include "base/clock.h"
#include "load/load_report.h"

static double seconds(int64_t span_us)
{
    return (double)span_us / 1e6;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

void load_report_plan(FILE *out, const struct load_options *options)
{
    fprintf(out, "%s %s: ", options->method, options->url);
    if (options->rate_per_s > 0)
        fprintf(out, "open loop, %g requests/s, at most %d connections", options->rate_per_s, options->connections);
    else
        fprintf(out, "closed loop, %d connections", options->connections);
    fprintf(out, "%s, %d process%s, ", options->closes ? ", each for one request" : "", options->processes,
            options->processes == 1 ? "" : "es");
    if (options->requests > 0)
        fprintf(out, "%" PRIu64 " requests", options->requests);
    else
        fprintf(out, "%g s", seconds(options->window_us));
    if (options->warm_up_us > 0)
        fprintf(out, " after %g s of warm-up", seconds(options->warm_up_us));
    fputs(options->slow_us > 0 ? ", slowed on purpose\n" : "\n", out);
    fflush(out);
}

static void print_time(FILE *out, const char *label, double time_us)
{
    if (time_us < 1000)
        fprintf(out, "%s %.0f us", label, time_us);
    else if (time_us < 1e6)
        fprintf(out, "%s %.3g ms", label, time_us / 1e3);
    else
        fprintf(out, "%s %.3g s", label, time_us / 1e6);
}

static void print_times(FILE *out, const struct timing *timing, bool has_far_tail)
{
    if (timing->count == 0) {
        fputs(" none\n", out);
        return;
    }
    print_time(out, " p50", (double)timing_quantile_us(timing, 0.50));
    print_time(out, "  p90", (double)timing_quantile_us(timing, 0.90));
    print_time(out, "  p99", (double)timing_quantile_us(timing, 0.99));
    if (has_far_tail)
        print_time(out, "  p99.9", (double)timing_quantile_us(timing, 0.999));
    print_time(out, "  max", (double)timing->max_us);
    print_time(out, "  mean", timing_mean_us(timing));
    fputc('\n', out);
}

static void print_failures(FILE *out, const struct tally *total)
{
    fputs("  failures       ", out);
    if (tally_failed(total) == 0 && total->not_sent == 0)
        fputs("none", out);
    for (int i = 0; i < FAILURE_KINDS; i++)
        if (total->failures[i] > 0)
            fprintf(out, " %s %" PRIu64, tally_failures[i], total->failures[i]);
    if (total->not_sent > 0)
        fprintf(out, " not_sent %" PRIu64, total->not_sent);
    fputc('\n', out);
    if (total->first_error[0] != '\0')
        fprintf(out, "  the first       %s\n", total->first_error);
    fputs("  statuses       ", out);
    for (int i = 0; i < TALLY_STATUSES; i++)
        if (total->statuses[i] > 0)
            fprintf(out, " %d: %" PRIu64, i, total->statuses[i]);
    fputc('\n', out);
}

static void print_bodies(FILE *out, const struct load_options *options, const struct crew_result *result)
{
    char text[BODY_TEXT_BYTES];
    if (options->expected.count > 0) {
        fprintf(out, "  bodies          %" PRIu64 " of %zu allowed ones came\n", result->distinct,
                options->expected.count);
    } else if (result->has_standard) {
        body_set_print(text, result->standard);
        fprintf(out, "  bodies          the first body is the standard: %s\n", text);
    } else {
        fputs("  bodies          none that could be a standard\n", out);
    }
}

static void print_connections(FILE *out, const struct tally *total)
{
    fprintf(out, "  connections     %" PRIu64 ", %.1f requests each", total->opened,
            ratio((double)total->sent, (double)total->opened));
    if (total->server_closes > 0)
        fprintf(out, "; the server closed %" PRIu64 " between requests, %" PRIu64 " requests were sent again",
                total->server_closes, total->retries);
    fprintf(out, "\n  in flight       %" PRIu64 " at the start, %" PRIu64 " at the end\n", total->in_flight_at_start,
            total->in_flight_at_end);
}

void load_report_text(FILE *out, const struct load_options *options, const struct crew_result *result)
{
    const struct tally *total = result->total;
    double window_s = seconds(result->window_end_us - result->window_start_us);
    bool is_open = options->rate_per_s > 0;
    char label[64] = "latency from the intended start:";
    if (!is_open)
        snprintf(label, sizeof label, "service time at c = %d:", options->connections);
    fprintf(out, "  goodput         %.1f verified/s: %" PRIu64 " of %" PRIu64 " sent in %.3f s, %.2f MiB/s\n",
            ratio((double)total->verified, window_s), total->verified, total->sent, window_s,
            ratio((double)total->total_bytes / 1048576, window_s));
    fprintf(out, "  %s", label);
    print_times(out, &total->time, is_open);
    if (is_open) {
        fputs("  late to send:  ", out);
        print_times(out, &total->lag, false);
    }
    print_failures(out, total);
    print_bodies(out, options, result);
    print_connections(out, total);
    fprintf(out, "  generator       %.2f s of CPU, %.0f %% of %d process%s, %.2f us for each verified request\n",
            seconds(total->cpu_us), 100 * ratio(seconds(total->cpu_us), window_s * options->processes),
            options->processes, options->processes == 1 ? "" : "es",
            ratio((double)total->cpu_us, (double)total->verified));
    if (total->stopped_early)
        fputs("  stopped early: these are the figures up to then\n", out);
    else if (!load_report_is_right(result))
        fputs("  NOT everything was verified\n", out);
}

bool load_report_is_right(const struct crew_result *result)
{
    const struct tally *total = result->total;
    return total->verified > 0 && tally_failed(total) == 0 && total->not_sent == 0 && !total->stopped_early;
}
