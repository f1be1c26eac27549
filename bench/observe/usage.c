/* usage.c: what was used in a span of time; see usage.h. */
#include "observe/usage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLACK_US                                                                                                       \
    1000000.0 /* a span's end may lie that far beyond the last sample: the rate of the last step goes on               \
               */

/* How to get at one counter of a sample. */
struct counter {
    const char *part, *name; /* groups.NAME.x, net.x; part "cpu": of CPU `index` */
    const char *field;
    size_t index;
    bool close_looks; /* only the samples that looked at the threads */
};

static double value_of(const json_t *sample, const struct counter *counter)
{
    const json_t *at = json_object_get(sample, counter->part);
    if (strcmp(counter->part, "cpu") == 0)
        at = json_array_get(at, counter->index);
    else if (counter->name != NULL)
        at = json_object_get(at, counter->name);
    at = json_object_get(at, counter->field);
    return json_is_number(at) ? json_number_value(at) : NAN;
}

static double time_of(const json_t *sample)
{
    const json_t *at = json_object_get(sample, "t_us");
    return json_is_number(at) ? json_number_value(at) : NAN;
}

static bool counts(const json_t *sample, const struct counter *counter)
{
    return !counter->close_looks || json_is_true(json_object_get(sample, "threads"));
}

/* The two samples that the time lies between, or the two nearest ones. Returns false when there are not two. */
static bool find_step(const json_t *samples, const struct counter *counter, double t_us, const json_t **before,
                      const json_t **after)
{
    *before = *after = NULL;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        if (!counts(sample, counter))
            continue;
        if (*after != NULL && time_of(*after) >= t_us)
            break;
        *before = *after;
        *after = sample;
    }
    return *before != NULL;
}

static double at_time(const json_t *samples, const struct counter *counter, double t_us)
{
    const json_t *before, *after;
    if (!find_step(samples, counter, t_us, &before, &after))
        return NAN;
    double a = value_of(before, counter), b = value_of(after, counter), ta = time_of(before), tb = time_of(after);
    return tb > ta ? a + (b - a) * (t_us - ta) / (tb - ta) : NAN;
}

static double between(const json_t *samples, const struct counter *counter, double start_us, double end_us)
{
    return at_time(samples, counter, end_us) - at_time(samples, counter, start_us);
}

/* -- parts
 * -------------------------------------------------------------------------------------------------------------------
 */

static double memory_of(const json_t *document, const char *when, const char *group, const char *field)
{
    const json_t *at =
        json_object_get(json_object_get(json_object_get(json_object_get(document, "memory"), when), group), field);
    return json_is_number(at) ? json_number_value(at) : NAN;
}

static void read_group(const json_t *document, const char *name, double start_us, double end_us,
                       struct usage_group *group)
{
    const json_t *samples = json_object_get(document, "samples");
    const struct {
        const char *field;
        double *to;
        bool close_looks;
    } all[] = {
        {"cpu_us", &group->cpu_us, false},          {"user_us", &group->user_us, false},
        {"system_us", &group->system_us, false},    {"voluntary", &group->voluntary, true},
        {"involuntary", &group->involuntary, true}, {"run_wait_us", &group->run_wait_us, true},
    };
    snprintf(group->name, sizeof group->name, "%s", name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct counter counter = {
            .part = "groups", .name = name, .field = all[i].field, .close_looks = all[i].close_looks};
        *all[i].to = between(samples, &counter, start_us, end_us);
    }
    const struct counter processes = {.part = "groups", .name = name, .field = "processes"};
    group->processes = at_time(samples, &processes, end_us);
    group->rss_kib = memory_of(document, "last", name, "rss_kib");
    group->pss_kib = memory_of(document, "last", name, "pss_kib");
    group->rss_grown_kib = group->rss_kib - memory_of(document, "first", name, "rss_kib");
}

/* All groups, and how much CPU they took together. */
static double read_groups(const json_t *document, double start_us, double end_us, struct usage *usage)
{
    const json_t *names = json_object_get(document, "groups");
    double sum = 0;
    for (size_t i = 0; i < json_array_size(names) && usage->group_count < USAGE_GROUPS_MAX; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL)
            continue;
        struct usage_group *group = &usage->groups[usage->group_count++];
        read_group(document, name, start_us, end_us, group);
        sum += group->cpu_us;
    }
    return sum;
}

/* Of all CPUs with one role ("shared" has both). */
struct side {
    int count;
    double busy_us, steal_us;
};

static double share_of(const struct side *side, double us, double span_us)
{
    return side->count > 0 ? us / span_us / side->count : NAN;
}

static void add_cpu(struct side *side, double busy_us, double steal_us)
{
    side->count++;
    side->busy_us += busy_us;
    side->steal_us += steal_us;
}

/* What no group took, by the CPUs' ticks, which see a timer's work too often or never, since it runs in step with them;
 * and by the clocks of all other processes, which may have run on other CPUs, and of which a container shows only its
 * own. The less. */
static double foreign_of(const json_t *document, double start_us, double end_us, double ticked_us)
{
    const struct counter others = {.part = "others", .field = "cpu_us", .close_looks = true};
    double clocked_us = json_is_true(json_object_get(document, "sees_all"))
                            ? between(json_object_get(document, "samples"), &others, start_us, end_us)
                            : NAN;
    double foreign = fmin(ticked_us, clocked_us) / (end_us - start_us);
    return foreign > 0 ? foreign : 0;
}

static void read_cpus(const json_t *document, double start_us, double end_us, double groups_us, struct usage *usage)
{
    const json_t *samples = json_object_get(document, "samples"), *cpus = json_object_get(document, "cpus");
    double span_us = end_us - start_us, ticked_us = 0;
    struct side server = {0}, generator = {0};
    for (size_t i = 0; i < json_array_size(cpus); i++) {
        const char *role = json_string_value(json_object_get(json_array_get(cpus, i), "role"));
        const struct counter idle = {.part = "cpu", .field = "idle_us", .index = i};
        const struct counter steal = {.part = "cpu", .field = "steal_us", .index = i};
        const struct counter softirq = {.part = "cpu", .field = "softirq_us", .index = i};
        double stolen_us = between(samples, &steal, start_us, end_us);
        const struct counter ticked = {.part = "cpu", .field = "busy_us", .index = i};
        /* What is neither idle nor stolen: those two are clocked, the rest is counted by ticks. */
        double this_us = span_us - between(samples, &idle, start_us, end_us) - stolen_us;
        if (role == NULL)
            continue;
        this_us = this_us > 0 ? this_us : 0;
        if (strcmp(role, "generator") != 0)
            add_cpu(&server, this_us, stolen_us);
        if (strcmp(role, "server") != 0)
            add_cpu(&generator, this_us, stolen_us);
        ticked_us += between(samples, &ticked, start_us, end_us);
        usage->softirq += between(samples, &softirq, start_us, end_us) / span_us;
    }
    usage->server_busy = share_of(&server, server.busy_us, span_us);
    usage->generator_busy = share_of(&generator, generator.busy_us, span_us);
    usage->steal = fmax(share_of(&server, server.steal_us, span_us), share_of(&generator, generator.steal_us, span_us));
    usage->foreign = foreign_of(document, start_us, end_us, ticked_us - groups_us);
}

static double step_of(const json_t *samples)
{
    double worst = 0;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        double step = json_number_value(json_object_get(json_array_get(samples, i), "clock_step_us"));
        worst = fabs(step) > fabs(worst) ? step : worst;
    }
    return worst;
}

const char *usage_read(const json_t *document, double start_us, double end_us, struct usage *usage)
{
    const json_t *samples = json_object_get(document, "samples");
    size_t count = json_array_size(samples);
    *usage = (struct usage){.seconds = (end_us - start_us) / 1e6};
    if (strcmp(json_string_value(json_object_get(document, "schema")) ?: "", "millbench-samples/1") != 0)
        return "samples.json is not of the schema millbench-samples/1";
    if (!(end_us > start_us))
        return "the window has no length";
    if (count < 2 || !(time_of(json_array_get(samples, 0)) <= start_us) ||
        !(time_of(json_array_get(samples, count - 1)) >= end_us - SLACK_US))
        return "samples.json does not cover the window";
    double groups_us = read_groups(document, start_us, end_us, usage);
    read_cpus(document, start_us, end_us, groups_us, usage);
    const struct counter overflows = {.part = "net", .field = "listen_overflows"};
    const struct counter drops = {.part = "net", .field = "listen_drops"};
    const struct counter retransmits = {.part = "net", .field = "retransmits"};
    usage->listen_overflows = between(samples, &overflows, start_us, end_us);
    usage->listen_drops = between(samples, &drops, start_us, end_us);
    usage->retransmits = between(samples, &retransmits, start_us, end_us);
    usage->clock_step_us = step_of(samples);
    return NULL;
}

double usage_last_sample_us(const json_t *document, double end_us)
{
    const json_t *samples = json_object_get(document, "samples");
    for (size_t i = json_array_size(samples); i > 0; i--)
        if (time_of(json_array_get(samples, i - 1)) <= end_us)
            return time_of(json_array_get(samples, i - 1));
    return NAN;
}

const struct usage_group *usage_group(const struct usage *usage, const char *name)
{
    for (size_t i = 0; i < usage->group_count; i++)
        if (strcmp(usage->groups[i].name, name) == 0)
            return &usage->groups[i];
    return NULL;
}
