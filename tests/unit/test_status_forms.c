/*
 * test_status_forms.c: one snapshot, with hostile text in it, as JSON, OpenMetrics, a page and text for a terminal.
 */
#include <CUnit/CUnit.h>

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/status_page.h"
#include "suite.h"

#define HOSTILE "/<script>alert('1')</script>\"&\\\x1b[31m\n\xff\xc3\xa4\xe2\x80\xae"

static struct snapshot_figure hello_figures[] = {
    {.is = {.name = "connections", .value = 4, .help = "Now <i>open</i> \"\\\n\xff"}},
    {.is = {.name = "drift", .value = -12345}},
    {.is = {.name = "reconnects", .value = 1000000007, .counts = true, .help = "Connections made again"}},
};
static struct snapshot_figure odd_figures[] = {
    {.is = {.name = "connections", .value = 40, .help = "Another one's"}},
    {.is = {.name = "drift", .value = 7, .counts = true}},
    {.is = {.name = "reconnects", .value = 1, .counts = true}},
};
static struct snapshot_route routes[] = {
    {.path = "/hello",
     .requests = 1234567,
     .errors = 3,
     .refused = 2,
     .figures = hello_figures,
     .figure_count = SUITE_COUNT(hello_figures)},
    {.path = "/odd\"\\<b>\n\xff", .requests = 1, .figures = odd_figures, .figure_count = SUITE_COUNT(odd_figures)},
    {.path = "", .requests = 9}};
static struct snapshot_worker workers[] = {
    {.pid = 501,
     .number = 1,
     .generation = 3,
     .state = SCOREBOARD_SERVING,
     .uptime_us = 8040 * CLOCK_SECOND,
     .threads = 8,
     .threads_busy = 2,
     .connections = 7,
     .idle = 4,
     .queued = 1,
     .requests = 1000},
    {.pid = 502, .number = 2, .generation = 3, .state = SCOREBOARD_STARTING, .threads = 8},
    {.pid = 401, .number = 1, .generation = 2, .state = SCOREBOARD_DRAINING, .threads = 8, .threads_busy = 1},
};
static struct snapshot_thread threads[STATUS_THREADS_SHOWN + 30];

static void count(struct histogram *histogram, int64_t time_us)
{
    histogram->sum_us += (uint64_t)time_us;
    histogram->buckets[histogram_bucket(time_us)]++;
}

static struct snapshot snapshot_with(int thread_count)
{
    memset(&routes[0].queue, 0, sizeof routes[0].queue);
    memset(&routes[0].handler, 0, sizeof routes[0].handler);
    for (int i = 0; i < 1000; i++) {
        count(&routes[0].queue, 3);
        count(&routes[0].handler, i < 980 ? 1000 : 100 * CLOCK_SECOND);
    }
    for (int i = 0; i < thread_count; i++) {
        threads[i] = (struct snapshot_thread){.worker = i == 0 ? 2 : 0,
                                              .number = i + 1,
                                              .request = (uint64_t)i + 70,
                                              .elapsed_us = (1000 - i) * CLOCK_MS + 5,
                                              .route = "/hello",
                                              .method = "GE\x01T",
                                              .uri = HOSTILE};
    }
    return (struct snapshot){.taken_us = 5000 * CLOCK_SECOND,
                             .master = 400,
                             .generation = 3,
                             .uptime_us = 1234567 * CLOCK_SECOND + 891000,
                             .events = {[LEDGER_RESTARTS] = 11, [LEDGER_CRASHES_SEEN] = 12, [LEDGER_UPGRADES] = 18},
                             .workers = workers,
                             .worker_count = SUITE_COUNT(workers),
                             .threads = threads,
                             .thread_count = thread_count,
                             .routes = routes,
                             .route_count = SUITE_COUNT(routes),
                             .idle = 4,
                             .queued = 1};
}

/* The whole of a form, valid until the next one. */
static char *print(void (*form)(FILE *, const struct snapshot *), int thread_count)
{
    static char *text;
    struct snapshot snapshot = snapshot_with(thread_count);
    size_t length;
    FILE *to;

    free(text);
    text = NULL;
    to = open_memstream(&text, &length);
    form(to, &snapshot);
    fclose(to);
    CU_ASSERT_EQUAL(strlen(text), length); /* no NUL inside */
    return text;
}

static void print_page(FILE *to, const struct snapshot *snapshot)
{
    status_page_print(to, snapshot, "0123abcd");
}

/* -- JSON -----------------------------------------------------------------------------------------------------------
 */

static json_t *parsed(int thread_count)
{
    json_error_t error;
    json_t *all = json_loads(print(status_json_print, thread_count), JSON_REJECT_DUPLICATES, &error);

    SUITE_CHECK(all, "%s in column %d", error.text, error.column);
    return all;
}

static void json_says_it_all(void)
{
    json_t *all = parsed(2), *thread;
    const char *version, *state, *uri;
    int master, generation, restarts, crashes, upgrades, slow, idle, suspended, queued, busy, number;
    double uptime_s, worker_uptime_s, p50, p999, queue;
    json_int_t requests;

    CU_ASSERT_EQUAL_FATAL(json_unpack(all, "{s:s, s:i, s:i, s:F, s:i, s:i, s:i, s:i, s:{s:i, s:i}, s:i}", "version",
                                      &version, "master", &master, "generation", &generation, "uptime_s", &uptime_s,
                                      "restarts", &restarts, "crashes", &crashes, "upgrades", &upgrades, "slow", &slow,
                                      "connections", "idle", &idle, "suspended", &suspended, "queued", &queued),
                          0);
    CU_ASSERT(strcmp(version, MR_VERSION) == 0 && master == 400 && generation == 3);
    CU_ASSERT(restarts == 11 && crashes == 12 && upgrades == 18 && slow == 0);
    CU_ASSERT(idle == 4 && suspended == 0 && queued == 1);
    CU_ASSERT_DOUBLE_EQUAL(uptime_s, 1234567.891, 1e-6);
    CU_ASSERT_EQUAL_FATAL(json_unpack(json_array_get(json_object_get(all, "routes"), 0),
                                      "{s:I, s:n, s:{s:F, s:F}, s:{s:F}}", "requests", &requests, "rate", "handler_ms",
                                      "p50", &p50, "p999", &p999, "queue_ms", "p99", &queue),
                          0);
    CU_ASSERT_EQUAL(requests, 1234567);
    CU_ASSERT(p50 >= 1 && p50 < 1.125 && p999 >= 100000 && p999 < 112500);
    CU_ASSERT_DOUBLE_EQUAL(queue, 0.003, 1e-9);
    CU_ASSERT_EQUAL_FATAL(json_unpack(json_array_get(json_object_get(all, "workers"), 0), "{s:s, s:i, s:F, s:i}",
                                      "state", &state, "number", &number, "uptime_s", &worker_uptime_s, "threads_busy",
                                      &busy),
                          0);
    CU_ASSERT(strcmp(state, "serving") == 0 && number == 1 && worker_uptime_s == 8040 && busy == 2);
    thread = json_array_get(json_object_get(all, "threads"), 0);
    CU_ASSERT_EQUAL_FATAL(json_unpack(thread, "{s:i, s:s, s:F}", "worker", &number, "uri", &uri, "elapsed_ms", &p50),
                          0);
    CU_ASSERT_EQUAL(number, 401);
    CU_ASSERT_DOUBLE_EQUAL(p50, 1000.005, 1e-9);
    CU_ASSERT_STRING_EQUAL(uri, "/<script>alert('1')</script>\"&\\%1B[31m%0A%FF\xc3\xa4%E2%80%AE");
    json_decref(all);
}

static void json_lists_what_has_no_route(void)
{
    json_t *all = parsed(0), *list = json_object_get(all, "routes");

    CU_ASSERT_EQUAL_FATAL(json_array_size(list), SUITE_COUNT(routes));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(list, 2), "route")), "");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(list, 1), "route")), "/odd\"\\<b>%0A%FF");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(all, "threads")), 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(all, "workers")), SUITE_COUNT(workers));
    json_decref(all);
}

static void json_has_the_figures_of_routes(void)
{
    json_t *all = parsed(0), *list = json_object_get(all, "routes");
    int connections, drift, reconnects;

    CU_ASSERT_EQUAL_FATAL(json_unpack(json_array_get(list, 0), "{s:{s:i, s:i, s:i !}}", "figures", "connections",
                                      &connections, "drift", &drift, "reconnects", &reconnects),
                          0);
    CU_ASSERT(connections == 4 && drift == -12345 && reconnects == 1000000007);
    CU_ASSERT_EQUAL_FATAL(json_unpack(json_array_get(list, 1), "{s:{s:i}}", "figures", "connections", &connections), 0);
    CU_ASSERT_EQUAL(connections, 40);
    CU_ASSERT_EQUAL(json_object_size(json_object_get(json_array_get(list, 2), "figures")), 0);
    json_decref(all);
}

static void json_shows_so_many_threads(void)
{
    json_t *all = parsed(STATUS_THREADS_SHOWN + 30);

    CU_ASSERT_EQUAL(json_array_size(json_object_get(all, "threads")), STATUS_THREADS_SHOWN);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(all, "threads_more")), 30);
    json_decref(all);
}

/* -- OpenMetrics ----------------------------------------------------------------------------------------------------
 */

struct family {
    char name[80], type[20], unit[20];
    bool has_help, has_samples;
};

struct sample {
    char name[80], labels[400], edge[40]; /* labels without `le` */
    double value;
};

static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");

    return text[0] != '\0' && text[length] == '\0' && !isdigit((unsigned char)text[0]);
}

/* One `name="value"`, with \\, \" and \n in the value; returns what follows. */
static const char *read_label(const char *at, struct sample *sample)
{
    char name[40], *to = NULL;
    size_t length = strcspn(at, "=");
    const char *start = at;

    SUITE_CHECK(length < sizeof name && strncmp(at + length, "=\"", 2) == 0, "no label: %s", at);
    memcpy(name, at, length);
    name[length] = '\0';
    SUITE_CHECK(is_name(name), "no name of a label: %s", at);
    if (strcmp(name, "le") == 0)
        to = sample->edge;
    for (at += length + 2; *at != '"'; at++) {
        SUITE_CHECK(*at != '\0', "a label without an end: %s", start);
        if (*at == '\\') {
            at++;
            SUITE_CHECK(strchr("\\\"n", *at) && *at, "no escape: %s", at);
        }
        if (to)
            *to++ = *at;
    }
    if (!to)
        strncat(sample->labels, start, (size_t)(at + 1 - start));
    return at + 1;
}

static struct sample read_sample(const char *line)
{
    struct sample sample = {.name = ""};
    size_t length = strcspn(line, "{ ");
    const char *at = line + length;
    char *end;

    SUITE_CHECK(length < sizeof sample.name, "too long: %s", line);
    memcpy(sample.name, line, length);
    SUITE_CHECK(is_name(sample.name), "no name: %s", line);
    if (*at == '{') {
        do
            at = read_label(at + 1, &sample);
        while (*at == ',');
        SUITE_CHECK(*at == '}', "no end of the labels: %s", line);
        at++;
    }
    SUITE_CHECK(*at == ' ' && !isspace((unsigned char)at[1]), "one blank before the value: %s", line);
    sample.value = strtod(at + 1, &end);
    SUITE_CHECK(end != at + 1 && *end == '\0', "no value: %s", line);
    return sample;
}

/* A sample is called like its family, with a suffix that the family's type allows. */
static void check_suffix(const struct family *family, const struct sample *sample)
{
    static const struct {
        const char *type, *suffixes;
    } allowed[] = {{"counter", " _total "},
                   {"gauge", "  "},
                   {"unknown", "  "},
                   {"info", " _info "},
                   {"histogram", " _bucket _sum _count "}};
    size_t length = strlen(family->name);
    char suffix[90];

    SUITE_CHECK(sample->value >= 0 || strcmp(family->type, "gauge") == 0 || strcmp(family->type, "unknown") == 0,
                "%s is negative", sample->name);
    SUITE_CHECK(strncmp(sample->name, family->name, length) == 0, "%s in the family %s", sample->name, family->name);
    snprintf(suffix, sizeof suffix, " %s ", sample->name + length);
    for (size_t i = 0; i < SUITE_COUNT(allowed); i++) {
        if (strcmp(family->type, allowed[i].type) == 0) {
            SUITE_CHECK(strstr(allowed[i].suffixes, suffix), "%s in a family of type %s", sample->name, family->type);
            return;
        }
    }
    SUITE_FAIL("the type %s of %s", family->type, family->name);
}

/* Edges and counts grow; the last edge is +Inf, with the count that is told after it. */
static void check_histogram(const struct sample *sample, struct sample *bucket)
{
    if (sample->edge[0] != '\0') {
        if (strcmp(bucket->name, sample->name) == 0 && strcmp(bucket->labels, sample->labels) == 0)
            SUITE_CHECK(strtod(bucket->edge, NULL) < strtod(sample->edge, NULL) && bucket->value <= sample->value,
                        "le=%s after le=%s in %s", sample->edge, bucket->edge, sample->labels);
        *bucket = *sample;
    } else if (strstr(sample->name, "_count")) {
        SUITE_CHECK(strcmp(bucket->edge, "+Inf") == 0 && strcmp(bucket->labels, sample->labels) == 0 &&
                        bucket->value == sample->value,
                    "the count of %s", sample->labels);
    }
}

static void read_comment(const char *line, struct family *family)
{
    char name[80], rest[200];

    SUITE_CHECK(sscanf(line, "# %*[A-Z] %79s %199[^\n]", name, rest) == 2, "no metadata: %s", line);
    if (strncmp(line, "# TYPE ", 7) == 0) {
        *family = (struct family){.has_help = false};
        snprintf(family->name, sizeof family->name, "%s", name);
        snprintf(family->type, sizeof family->type, "%.19s", rest);
        return;
    }
    SUITE_CHECK(strcmp(name, family->name) == 0 && !family->has_samples, "not where it belongs: %s", line);
    if (strncmp(line, "# UNIT ", 7) == 0) {
        snprintf(family->unit, sizeof family->unit, "_%.18s", rest);
        SUITE_CHECK(strcmp(name + strlen(name) - strlen(family->unit), family->unit) == 0, "the unit of %s", name);
    } else {
        SUITE_CHECK(strncmp(line, "# HELP ", 7) == 0 && !family->has_help, "no metadata: %s", line);
        family->has_help = true;
    }
}

struct metrics {
    int samples, families;
    char names[100][80]; /* of the families so far */
    struct sample *seen; /* samples so far */
};

/* No two samples are of one name and the same labels. */
static void remember_sample(struct metrics *metrics, const struct sample *sample)
{
    for (int i = 0; i < metrics->samples; i++) {
        const struct sample *other = &metrics->seen[i];

        SUITE_CHECK(strcmp(other->name, sample->name) != 0 || strcmp(other->labels, sample->labels) != 0 ||
                        strcmp(other->edge, sample->edge) != 0,
                    "%s{%s} is there twice", sample->name, sample->labels);
    }
    metrics->seen = reallocarray(metrics->seen, (size_t)metrics->samples + 1, sizeof *sample);
    metrics->seen[metrics->samples++] = *sample;
}

static void remember_family(struct metrics *metrics, const struct family *family)
{
    for (int i = 0; i < metrics->families; i++)
        SUITE_CHECK(strcmp(metrics->names[i], family->name) != 0, "%s is there twice", family->name);
    strcpy(metrics->names[metrics->families++], family->name);
}

/* Strictly by OpenMetrics 1.0, as far as this server uses it. */
static struct metrics check_metrics(char *text)
{
    struct metrics metrics = {0};
    struct family family = {.name = ""};
    struct sample sample, bucket = {.name = ""};
    bool ended = false;
    char *place = NULL;

    SUITE_CHECK(strlen(text) > 6 && strcmp(text + strlen(text) - 6, "# EOF\n") == 0, "no end");
    SUITE_CHECK(strstr(text, "\n\n") == NULL, "an empty line");
    for (char *line = strtok_r(text, "\n", &place); line; line = strtok_r(NULL, "\n", &place)) {
        SUITE_CHECK(!ended, "after the end: %s", line);
        ended = strcmp(line, "# EOF") == 0;
        if (ended)
            continue;
        if (line[0] == '#') {
            read_comment(line, &family);
            if (strncmp(line, "# TYPE ", 7) == 0)
                remember_family(&metrics, &family);
            continue;
        }
        sample = read_sample(line);
        family.has_samples = true;
        check_suffix(&family, &sample);
        check_histogram(&sample, &bucket);
        remember_sample(&metrics, &sample);
    }
    free(metrics.seen);
    return metrics;
}

static void metrics_are_strict(void)
{
    struct metrics metrics = check_metrics(print(status_metrics_print, 2));

    CU_ASSERT_EQUAL(metrics.families, 24 + 3);
    SUITE_CHECK(metrics.samples == 1 + 3 * 3 + 2 * 3 * 30 + 3 + 8 + LEDGER_EVENTS + 6, "%d samples", metrics.samples);
}

static void check_lines(const char *text, const char *const *lines)
{
    for (; *lines; lines++) {
        const char *at = strstr(text, *lines);

        SUITE_CHECK(at && (at == text || at[-1] == '\n') && at[strlen(*lines)] == '\n', "no line: %s", *lines);
    }
}

static void metrics_say_it_all(void)
{
    check_lines(print(status_metrics_print, 2),
                (const char *const[]){"millrace_requests_total{route=\"/hello\"} 1234567",
                                      "millrace_requests_total{route=\"\"} 9",
                                      "millrace_errors_total{route=\"/hello\"} 3",
                                      "millrace_refused_total{route=\"/hello\"} 2",
                                      "millrace_requests_total{route=\"/odd\\\"\\\\<b>%0A%FF\"} 1",
                                      "# UNIT millrace_handler_seconds seconds",
                                      "millrace_queue_seconds_bucket{route=\"/hello\",le=\"2e-06\"} 0",
                                      "millrace_queue_seconds_bucket{route=\"/hello\",le=\"4e-06\"} 1000",
                                      "millrace_handler_seconds_bucket{route=\"/hello\",le=\"0.000512\"} 0",
                                      "millrace_handler_seconds_bucket{route=\"/hello\",le=\"0.001024\"} 980",
                                      "millrace_handler_seconds_bucket{route=\"/hello\",le=\"67.108864\"} 980",
                                      "millrace_handler_seconds_bucket{route=\"/hello\",le=\"+Inf\"} 1000",
                                      "millrace_handler_seconds_count{route=\"/hello\"} 1000",
                                      "millrace_handler_seconds_sum{route=\"/hello\"} 2000.980000",
                                      "millrace_workers{state=\"serving\"} 1",
                                      "millrace_workers{state=\"draining\"} 1",
                                      "millrace_threads_busy 3",
                                      "millrace_connections 7",
                                      "millrace_connections_idle 4",
                                      "millrace_requests_queued 1",
                                      "millrace_generation 3",
                                      "millrace_uptime_seconds 1234567.891",
                                      "millrace_restarts_total 11",
                                      "millrace_crashes_total 12",
                                      "millrace_upgrades_total 18",
                                      "# TYPE millrace_app_connections gauge",
                                      "# HELP millrace_app_connections Now <i>open</i> \\\"\\\\%0A%FF",
                                      "millrace_app_connections{route=\"/hello\"} 4",
                                      "millrace_app_connections{route=\"/odd\\\"\\\\<b>%0A%FF\"} 40",
                                      "# TYPE millrace_app_drift unknown",
                                      "millrace_app_drift{route=\"/hello\"} -12345",
                                      "millrace_app_drift{route=\"/odd\\\"\\\\<b>%0A%FF\"} 7",
                                      "# TYPE millrace_app_reconnects counter",
                                      "millrace_app_reconnects_total{route=\"/hello\"} 1000000007",
                                      NULL});
}

/* -- The page and the text ------------------------------------------------------------------------------------------
 */

static int count_of(const char *text, const char *part)
{
    int found = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        found++;
    return found;
}

static void page_escapes_what_came_from_outside(void)
{
    const char *page = print(print_page, 3);

    CU_ASSERT_EQUAL(count_of(page, "<script"), 1); /* its own */
    CU_ASSERT_EQUAL(count_of(page, "alert('1')"), 0);
    CU_ASSERT_EQUAL(count_of(page, "<b>"), 0);
    CU_ASSERT_EQUAL(count_of(page, "GE%01T /&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;\\%1B[31m%0A%FF"
                                   "\xc3\xa4%E2%80%AE<"),
                    3);
    CU_ASSERT_EQUAL(count_of(page, "/odd&quot;\\&lt;b&gt;%0A%FF"), 3); /* its line, its figures' heading and label */
    CU_ASSERT_EQUAL(count_of(page, "<i>"), 0);
    CU_ASSERT_EQUAL(count_of(page, "Now &lt;i&gt;open&lt;/i&gt; &quot;\\%0A%FF<"), 1);
}

static void page_loads_nothing(void)
{
    const char *page = print(print_page, 3);

    CU_ASSERT_EQUAL(count_of(page, "nonce=\"0123abcd\""), 2);
    CU_ASSERT_EQUAL(count_of(page, "<style"), 1);
    CU_ASSERT_EQUAL(count_of(page, "style=\""), 0);
    CU_ASSERT_EQUAL(count_of(page, "http://") + count_of(page, "https://") + count_of(page, "src="), 0);
    CU_ASSERT_EQUAL(count_of(page, "<noscript><meta http-equiv=\"refresh\""), 1);
}

/* Every element is closed where it was opened; <meta>, <link> and <!DOCTYPE> have no end. */
static void page_is_well_formed(void)
{
    char open[40][16];
    int depth = 0;

    for (const char *at = print(print_page, 3); (at = strchr(at, '<')) != NULL; at++) {
        char name[16] = "";
        bool closes = at[1] == '/';

        if (sscanf(at + 1 + closes, "%15[a-zA-Z0-9!]", name) != 1 || strcmp(name, "meta") == 0 ||
            strcmp(name, "link") == 0 || name[0] == '!')
            continue;
        if (closes) {
            SUITE_CHECK(depth > 0 && strcmp(open[--depth], name) == 0, "</%s> in <%s>", name, open[depth]);
            continue;
        }
        SUITE_CHECK(depth < 40, "too deep at <%s>", name);
        strcpy(open[depth++], name);
        if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0) /* what is inside is no markup */
            at = strstr(at, strcmp(name, "script") == 0 ? "</script>" : "</style>") - 1;
    }
    SUITE_CHECK(depth == 0, "<%s> is not closed", open[depth > 0 ? depth - 1 : 0]);
}

static void page_says_it_all(void)
{
    const char *page = print(print_page, STATUS_THREADS_SHOWN + 30);

    CU_ASSERT(strstr(page, "<td>1\u202f234\u202f567</td>") != NULL);
    CU_ASSERT(strstr(page, "generation 2, on its way out") != NULL);
    CU_ASSERT(strstr(page, "draining") && strstr(page, "starting") && strstr(page, "serving"));
    CU_ASSERT(strstr(page, "14 d 6 h") != NULL);
    CU_ASSERT(strstr(page, "and 30 more") != NULL);
    CU_ASSERT(strstr(print(print_page, 0), "No handler is running") != NULL);
}

static void page_has_the_figures_of_routes(void)
{
    const char *page = print(print_page, 0);

    CU_ASSERT_EQUAL(count_of(page, "<h2>Figures of "), 2);
    CU_ASSERT(strstr(page, ">drift</th><td>\u221212\u202f345</td><td class=\"l\">now<") != NULL);
    CU_ASSERT(strstr(page, ">reconnects</th><td>1\u202f000\u202f000\u202f007</td><td class=\"l\">so far<") != NULL);
}

static void text_has_the_figures_of_routes(void)
{
    const char *text = print(status_text_print, 0), *at = strstr(text, "\n\n/hello\n  connections ");

    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT(strstr(at, "-12345") != NULL && strstr(at, " 1000000007  Connections made again\n") != NULL);
    CU_ASSERT(strstr(at, "Now <i>open</i> \"\\%0A%FF\n") != NULL);
}

static void text_commands_no_terminal(void)
{
    const char *text = print(status_text_print, 70);

    for (const char *at = text; *at != '\0'; at++)
        SUITE_CHECK(*at == '\n' || (*at >= 0x20 && *at < 0x7f), "byte 0x%02x", (unsigned char)*at);
    CU_ASSERT(strstr(text, "and 20 more\n") != NULL);
    CU_ASSERT(strstr(text, "\n(no route) ") != NULL);
    CU_ASSERT(strstr(text, "generation 3, up 14 d 6 h\n") != NULL);
}

static const struct suite_case cases[] = {
    {"JSON says it all", json_says_it_all},
    {"JSON lists what has no route", json_lists_what_has_no_route},
    {"JSON has the figures of routes", json_has_the_figures_of_routes},
    {"JSON shows so many threads", json_shows_so_many_threads},
    {"metrics are strict", metrics_are_strict},
    {"metrics say it all", metrics_say_it_all},
    {"the page escapes what came from outside", page_escapes_what_came_from_outside},
    {"the page loads nothing", page_loads_nothing},
    {"the page is well-formed", page_is_well_formed},
    {"the page says it all", page_says_it_all},
    {"the page has the figures of routes", page_has_the_figures_of_routes},
    {"the text has the figures of routes", text_has_the_figures_of_routes},
    {"the text commands no terminal", text_commands_no_terminal},
};

int main(int argc, char **argv)
{
    return suite_main("status_forms", cases, SUITE_COUNT(cases), argc, argv);
}
