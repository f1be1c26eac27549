/*
 * load_json.c: the report for programs (load_report.h), schema millbench-load/1. What was not measured is null.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "load/load_report.h"

#define SAMPLE_MAX 16 /* expected hashes that are listed */

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void set_number(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, number(value));
}

static json_t *hash_text(uint64_t hash)
{
    return json_sprintf("%016" PRIx64, hash);
}

static json_t *histogram(const struct timing *timing)
{
    json_t *list = json_array();
    for (int i = 0; i < TIMING_BUCKETS; i++)
        if (timing->buckets[i] > 0)
            json_array_append_new(list, json_pack("[I, I, o]", (json_int_t)timing_lo_us(i), (json_int_t)timing_hi_us(i),
                                                  number(timing->buckets[i])));
    return list;
}

/* Without a single value there is no time: null. */
static json_t *quantile(const struct timing *timing, double share)
{
    return timing->count > 0 ? json_integer(timing_quantile_us(timing, share)) : json_null();
}

static json_t *times(const struct timing *timing)
{
    bool has = timing->count > 0;
    json_t *object = json_object();
    json_object_set_new(object, "mean", has ? json_real(timing_mean_us(timing)) : json_null());
    json_object_set_new(object, "min", has ? json_integer(timing->min_us) : json_null());
    json_object_set_new(object, "max", has ? json_integer(timing->max_us) : json_null());
    json_object_set_new(object, "p50", quantile(timing, 0.50));
    json_object_set_new(object, "p90", quantile(timing, 0.90));
    json_object_set_new(object, "p99", quantile(timing, 0.99));
    json_object_set_new(object, "histogram", histogram(timing));
    return object;
}

static json_t *requests(const struct tally *total)
{
    json_t *object = json_object();
    set_number(object, "sent", total->sent);
    set_number(object, "verified", total->verified);
    set_number(object, "not_sent", total->not_sent);
    set_number(object, "in_flight_at_start", total->in_flight_at_start);
    set_number(object, "in_flight_at_end", total->in_flight_at_end);
    for (int i = 0; i < FAILURE_KINDS; i++)
        set_number(object, tally_failures[i], total->failures[i]);
    return object;
}

static json_t *statuses(const struct tally *total)
{
    json_t *object = json_object();
    for (int i = 0; i < TALLY_STATUSES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        if (total->statuses[i] > 0)
            set_number(object, name, total->statuses[i]);
    }
    return object;
}

static json_t *series(const struct tally *total, int64_t window_us)
{
    json_t *list = json_array();
    int64_t slots = (window_us + TALLY_SLOT_MS * INT64_C(1000) - 1) / (TALLY_SLOT_MS * INT64_C(1000));
    for (int64_t i = 0; i < slots && i < TALLY_SLOTS; i++)
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "t_ms", (json_int_t)(i * TALLY_SLOT_MS), "verified",
                                              (json_int_t)total->slots[i].verified, "failed",
                                              (json_int_t)total->slots[i].failed));
    return list;
}

static json_t *expected(const struct load_options *options, const struct crew_result *result)
{
    json_t *sample = json_array();
    for (size_t i = 0; i < options->expected.count && i < SAMPLE_MAX; i++)
        json_array_append_new(sample, hash_text(options->expected.bodies[i].hash));
    if (result->has_standard)
        json_array_append_new(sample, hash_text(result->standard.hash));
    return json_pack("{s:I, s:b, s:o}", "set_size",
                     (json_int_t)(options->expected.count > 0 ? options->expected.count : result->has_standard),
                     "first_is_standard", options->expected.count == 0, "hashes_sample", sample);
}

static json_t *bodies(const struct crew_result *result)
{
    const struct tally *total = result->total;
    bool has = total->verified > 0;
    return json_pack("{s:o, s:o, s:o}", "distinct", number(result->distinct), "header_bytes_min",
                     has ? number(total->header_bytes_min) : json_null(), "header_bytes_max",
                     has ? number(total->header_bytes_max) : json_null());
}

static void add_counts(json_t *root, const struct load_options *options, const struct tally *total)
{
    json_object_set_new(root, "requests", requests(total));
    json_object_set_new(root, "statuses", statuses(total));
    json_object_set_new(root, "bytes",
                        json_pack("{s:o, s:o, s:o}", "body", number(total->body_bytes), "header",
                                  number(total->header_bytes), "total", number(total->total_bytes)));
    json_object_set_new(root, "generator",
                        json_pack("{s:I, s:I, s:I, s:i}", "cpu_us", (json_int_t)total->cpu_us, "user_us",
                                  (json_int_t)total->user_us, "system_us", (json_int_t)total->system_us, "processes",
                                  options->processes));
    json_object_set_new(root, "connections",
                        json_pack("{s:i, s:o, s:o, s:o, s:o}", "limit", options->connections, "opened",
                                  number(total->opened), "kept_requests", number(total->kept_requests), "server_closes",
                                  number(total->server_closes), "retries", number(total->retries)));
    json_object_set_new(root, "stopped_early", json_boolean(total->stopped_early));
    json_object_set_new(root, "first_error",
                        total->first_error[0] != '\0' ? json_string(total->first_error) : json_null());
}

static void add_times(json_t *root, const struct tally *total, bool is_open)
{
    json_t *time = times(&total->time), *lag = is_open ? times(&total->lag) : json_null();
    json_object_set_new(time, "kind", json_string(is_open ? "latency_from_intended_start" : "service_time"));
    json_object_set_new(time, "p99_9", is_open ? quantile(&total->time, 0.999) : json_null());
    json_object_set_new(root, "time_us", time);
    json_object_set_new(root, "lag_us", lag);
}

int load_report_json(FILE *out, const struct load_options *options, const struct crew_result *result)
{
    bool is_open = options->rate_per_s > 0;
    int64_t window_us = result->window_end_us - result->window_start_us;
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "schema", "millbench-load/1", "version", MR_VERSION,
                             "url", options->url, "loop", is_open ? "open" : "closed", "window_start_us",
                             (json_int_t)result->window_start_us, "window_end_us", (json_int_t)result->window_end_us);
    json_object_set_new(root, "concurrency", is_open ? json_null() : json_integer(options->connections));
    json_object_set_new(root, "rate", is_open ? json_real(options->rate_per_s) : json_null());
    json_object_set_new(root, "goodput_per_s",
                        window_us > 0 ? json_real((double)result->total->verified * 1e6 / (double)window_us)
                                      : json_null());
    add_counts(root, options, result->total);
    add_times(root, result->total, is_open);
    json_object_set_new(root, "series", series(result->total, window_us));
    json_object_set_new(root, "bodies", bodies(result));
    json_object_set_new(root, "expected", expected(options, result));
    int status = json_dumpf(root, out, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root);
    if (status == 0)
        status = fputc('\n', out) == EOF || fflush(out) != 0 ? -1 : 0;
    return status;
}
