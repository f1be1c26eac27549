/*
 * test_bench_ab.c: ab's recorded outputs whole, cut and altered, and each rule about them.
 */
#include <math.h>

#include "bench/recorded.h"
#include "tools/ab.h"

#define URL "http://127.0.0.1:8080/hello"

static struct recorded recorded;

static struct tool_settings usual(int64_t requests)
{
    return (struct tool_settings){
        .url = URL, .concurrency = 4, .requests = requests, .keep_alive = true, .body_bytes = 450};
}

static struct ruling judge(const struct tool_settings *settings, struct tool_exit ended)
{
    struct ruling ruling;
    struct ab_reading reading;
    struct span text = guard_copy(recorded.text, recorded.length);
    int whole = ab_read((const char *)text.at, text.length, &reading);
    CU_ASSERT_EQUAL(whole == 0, reading.fault == NULL);
    ruling_init(&ruling);
    ab_judge(&reading, settings, &ended, &ruling);
    return ruling;
}

/* -- reading ---------------------------------------------------------------------------------------------------- */

static void numbers_of_a_good_run(void)
{
    struct ab_reading reading;
    recorded_read("ab-good", "stdout", &recorded);
    CU_ASSERT_EQUAL(ab_read(recorded.text, recorded.length, &reading), 0);
    CU_ASSERT_PTR_NULL(reading.fault);
    CU_ASSERT_EQUAL(reading.document_bytes, 450);
    CU_ASSERT_EQUAL(reading.concurrency, 4);
    CU_ASSERT_EQUAL(reading.complete, 2000);
    CU_ASSERT_EQUAL(reading.failed, 0);
    CU_ASSERT_EQUAL(reading.keep_alive, 2000);
    CU_ASSERT_EQUAL(reading.html_bytes, 2000 * 450);
    CU_ASSERT(reading.total_bytes > reading.html_bytes);
    CU_ASSERT_EQUAL(reading.non_2xx, -1);
    CU_ASSERT_EQUAL(reading.write_errors, -1);
    CU_ASSERT_EQUAL(reading.failed_length, -1);
    CU_ASSERT(reading.requests_per_s > 0 && reading.taken_s > 0 && reading.kib_per_s > 0);
    /* Of the two lines "Time per request" the first is the mean, the second the inverse of the rate. */
    CU_ASSERT_DOUBLE_EQUAL(reading.request_ms, 4000 / reading.requests_per_s, 0.001);
    CU_ASSERT_DOUBLE_EQUAL(reading.across_request_ms, 1000 / reading.requests_per_s, 0.001);
}

static void exact_numbers(void)
{
    static const char text[] = "Document Length:        450 bytes\n"
                               "Concurrency Level:      80\n"
                               "Time taken for tests:   16.527 seconds\n"
                               "Complete requests:      25000\n"
                               "Failed requests:        6\n"
                               "   (Connect: 1, Receive: 2, Length: 3, Exceptions: 4)\n"
                               "Write errors:           7\n"
                               "Non-2xx responses:      8\n"
                               "Keep-Alive requests:    24900\n"
                               "Total transferred:      4294967296123 bytes\n"
                               "HTML transferred:       11250000 bytes\n"
                               "Requests per second:    1512.66 [#/sec] (mean)\n"
                               "Time per request:       52.887 [ms] (mean)\n"
                               "Time per request:       0.661 [ms] (mean, across all concurrent requests)\n"
                               "Transfer rate:          950.25 [Kbytes/sec] received\n"
                               " 100%     91 (longest request)\n";
    struct ab_reading is;
    CU_ASSERT_EQUAL(ab_read(text, sizeof text - 1, &is), 0);
    CU_ASSERT(is.document_bytes == 450 && is.concurrency == 80 && is.complete == 25000 && is.failed == 6);
    CU_ASSERT(is.failed_connect == 1 && is.failed_receive == 2 && is.failed_length == 3 && is.failed_exceptions == 4);
    CU_ASSERT(is.write_errors == 7 && is.non_2xx == 8 && is.keep_alive == 24900);
    CU_ASSERT(is.total_bytes == 4294967296123 && is.html_bytes == 11250000);
    CU_ASSERT(is.taken_s == 16.527 && is.requests_per_s == 1512.66 && is.kib_per_s == 950.25);
    CU_ASSERT(is.request_ms == 52.887 && is.across_request_ms == 0.661);
}

static const char *const every_recording[] = {
    "ab-good",    "ab-big",      "ab-timed",      "ab-short",   "ab-quiet",   "ab-connections", "ab-variable",
    "ab-hundred", "ab-unkept",   "ab-non-2xx",    "ab-moved",   "ab-refused", "ab-refused-r",   "ab-usage",
    "ab-length",  "ab-reset",    "ab-cut",        "ab-close",   "ab-nothing", "ab-status",      "ab-bodies",
    "ab-stall",   "ab-length-l", "ab-length-all", "ab-reset-r", "ab-silence", "ab-unframed",
};

/* What is cut anywhere, be it in the last line, is no result. */
static void no_prefix_is_whole(void)
{
    struct tool_settings settings = usual(0);
    settings.body_bytes = -1;
    for (size_t i = 0; i < SUITE_COUNT(every_recording); i++) {
        recorded_read(every_recording[i], "stdout", &recorded);
        for (; recorded.length > 0; recorded.length--) {
            struct ab_reading reading;
            struct ruling ruling;
            struct tool_exit ended = recorded_exit(0);
            size_t length = recorded.length - 1;
            struct span text = guard_copy(recorded.text, length);
            SUITE_CHECK(ab_read((const char *)text.at, length, &reading) == -1 && reading.fault != NULL,
                        "%s: %zu bytes are taken as whole", every_recording[i], length);
            ruling_init(&ruling);
            ab_judge(&reading, &settings, &ended, &ruling);
            SUITE_CHECK(ruling.status == RULING_FAILED, "%s: %zu bytes: not failed", every_recording[i], length);
        }
    }
}

static void one_request(void)
{
    struct tool_settings settings = usual(1);
    settings.concurrency = 1;
    recorded_read("ab-one", "stdout", &recorded);
    struct ruling ruling = judge(&settings, recorded_exit(0));
    recorded_expect("one", &ruling, RULING_ACCEPTED, NULL);
    /* With one request there are no percentages to wait for; the line of the transfer rate is the last. */
    recorded.length = (size_t)(strstr(recorded.text, "received\n") - recorded.text) + strlen("received");
    for (; recorded.length > 0; recorded.length--) {
        ruling = judge(&settings, recorded_exit(0));
        SUITE_CHECK(ruling.status == RULING_FAILED, "%zu bytes: not failed", recorded.length);
    }
}

static void times(void)
{
    struct ab_times is;
    recorded_read("ab-good", "csv", &recorded);
    CU_ASSERT_EQUAL(ab_read_times(recorded.text, recorded.length, &is), 0);
    CU_ASSERT_PTR_NULL(is.fault);
    CU_ASSERT(is.ms[0] > 0 && is.ms[50] >= is.ms[0] && is.ms[99] >= is.ms[50] && is.ms[100] >= is.ms[99]);
    for (size_t length = 0; length < recorded.length; length++) {
        struct span text = guard_copy(recorded.text, length);
        SUITE_CHECK(ab_read_times((const char *)text.at, length, &is) == -1 && is.fault != NULL,
                    "%zu bytes are taken as whole", length);
    }
    recorded_with_commas(&recorded);
    CU_ASSERT_EQUAL(ab_read_times(recorded.text, recorded.length, &is), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(is.fault, "decimal comma"));
    /* Of 50 requests or fewer ab reads beyond its array. */
    recorded_read("ab-one", "csv", &recorded);
    CU_ASSERT_EQUAL(ab_read_times(recorded.text, recorded.length, &is), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(is.fault, "fall"));
}

static void altered_times(void)
{
    static const struct {
        const char *was, *now, *fault;
    } cases[] = {
        {"Percentage served,Time in ms", "Percentage served;Time in ms", "begin"},
        {"\n7,", "\n8,", "lacks"},
        {"\n7,", "\nx,", "cannot be read"},
        {"\n7,", "\n7;", "cannot be read"},
        {"\n7,", "\n7,-", "cannot be read"},
        {"\n7,", "\n7,nan", "cannot be read"},
        {"\n0,", "\n0,9", "fall"},
        {"\n100,", "\n100,0.001\n101,", "goes on"},
    };
    struct ab_times is;
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        recorded_read("ab-good", "csv", &recorded);
        recorded_edit(&recorded, cases[i].was, cases[i].now);
        SUITE_CHECK(ab_read_times(recorded.text, recorded.length, &is) == -1, "%zu: taken as whole", i);
        SUITE_CHECK(strstr(is.fault, cases[i].fault) != NULL || (i == 7 && strstr(is.fault, "fall") != NULL), "%zu: %s",
                    i, is.fault);
    }
}

/* -- rules ------------------------------------------------------------------------------------------------------ */

static void recordings_are_judged(void)
{
    static const struct {
        const char *name;
        int64_t requests;
        int exit_status;
        enum ruling_status status;
        const char *reason;
    } cases[] = {
        {"ab-good", 2000, 0, RULING_ACCEPTED, NULL},
        {"ab-quiet", 2000, 0, RULING_ACCEPTED, NULL},
        {"ab-unkept", 500, 0, RULING_VOID,
         "only 0 of 500 replies left their connection open (0 closes were expected); perhaps"},
        {"ab-hundred", 1030, 0, RULING_VOID, "only 1022 of 1030 replies left their connection open (0 closes"},
        {"ab-non-2xx", 500, 0, RULING_VOID, "500 of 500 replies had another status"},
        {"ab-moved", 500, 0, RULING_VOID, "500 of 500 replies had another status"},
        {"ab-refused", 500, 111, RULING_FAILED, "ab ended with status 111"},
        {"ab-refused-r", 500, 0, RULING_VOID, "750 failed (connect 0, receive 500, length 0, exceptions 250)"},
        {"ab-usage", 3, 22, RULING_FAILED, "ab ended with status 22"},
        {"ab-length", 300, 0, RULING_VOID, "30 failed (connect 0, receive 0, length 30, exceptions 0)"},
        {"ab-length-all", 300, 0, RULING_VOID,
         "the first reply, which ab compares the others with, had 449 bytes, not 450"},
        {"ab-reset", 300, 104, RULING_FAILED, "ab ended with status 104"},
        {"ab-reset", 300, 0, RULING_FAILED, "not whole"},
        {"ab-reset-r", 300, 0, RULING_VOID, "failed (connect 0, receive 30, length 30, exceptions 30)"},
        {"ab-cut", 300, 0, RULING_VOID, "30 failed"},
        {"ab-nothing", 300, 0, RULING_VOID, "30 failed"},
        {"ab-status", 300, 0, RULING_VOID, "30 of 300 replies had another status"},
        {"ab-silence", 300, 119, RULING_FAILED, "ab ended with status 119"},
        {"ab-unframed", 300, 0, RULING_VOID, "perhaps the replies have no Content-Length"},
        {"ab-bodies", 300, 0, RULING_ACCEPTED, NULL}, /* ab sees no wrong byte: see tool_judge_checks */
        {"ab-stall", 300, 0, RULING_ACCEPTED, NULL},  /* slow, but right */
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_settings settings = usual(cases[i].requests);
        recorded_read(cases[i].name, "stdout", &recorded);
        struct ruling ruling = judge(&settings, recorded_exit(cases[i].exit_status));
        recorded_expect(cases[i].name, &ruling, cases[i].status, cases[i].reason);
    }
}

static void settings_decide(void)
{
    struct tool_settings settings = usual(500);
    settings.keep_alive = false;
    recorded_read("ab-connections", "stdout", &recorded);
    struct ruling ruling = judge(&settings, recorded_exit(0));
    recorded_expect("a connection each", &ruling, RULING_ACCEPTED, NULL);
    settings.keep_alive = true;
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("without -k", &ruling, RULING_VOID, "without -k");
    settings = usual(2000);
    settings.keep_alive = false;
    recorded_read("ab-good", "stdout", &recorded);
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("kept", &ruling, RULING_VOID, "2000 connections were kept");

    settings = usual(1030);
    settings.requests_per_connection = 100;
    recorded_read("ab-hundred", "stdout", &recorded);
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("closes that were expected", &ruling, RULING_ACCEPTED, NULL);
    settings.requests_per_connection = 200; /* 5 */
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("more closes", &ruling, RULING_VOID, "(5 closes were expected)");

    settings = usual(2000);
    settings.body_bytes = 23888;
    recorded_read("ab-big", "stdout", &recorded);
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("a larger page", &ruling, RULING_ACCEPTED, NULL);

    settings = usual(10);
    settings.concurrency = 2;
    recorded_read("ab-short", "stdout", &recorded);
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("a short run", &ruling, RULING_ACCEPTED, NULL);
}

static void a_run_by_time(void)
{
    struct tool_settings settings = usual(0);
    settings.seconds = 1;
    recorded_read("ab-timed", "stdout", &recorded);
    struct ruling ruling = judge(&settings, recorded_exit(0));
    recorded_expect("1 s", &ruling, RULING_ACCEPTED, NULL);
    settings.seconds = 2;
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("1 s of 2", &ruling, RULING_VOID, "instead of 2.0 s");
    recorded_read("ab-timed", "csv", &recorded);
    struct ab_times is;
    CU_ASSERT_EQUAL(ab_read_times(recorded.text, recorded.length, &is), 0);
}

/* -l removes ab's only check of bodies: the same server is void without it, accepted with it. What remains is what
 * millbench load verified. */
static void pages_of_variable_length(void)
{
    struct tool_settings settings = usual(300);
    struct tool_check checks[] = {{"before", true, 20, 20}, {"during", true, 40, 40}, {"after", true, 20, 20}};
    settings.variable_length = true;
    recorded_read("ab-length-l", "stdout", &recorded);
    struct ruling ruling = judge(&settings, recorded_exit(0));
    recorded_expect("with -l", &ruling, RULING_ACCEPTED, NULL);
    tool_judge_checks(checks, 3, &ruling);
    recorded_expect("verified", &ruling, RULING_ACCEPTED, NULL);
    checks[1].verified = 39;
    tool_judge_checks(checks, 3, &ruling);
    recorded_expect("one wrong", &ruling, RULING_VOID, "only 39 of the 40 replies that were verified during the run");
    settings.variable_length = false;
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("-l unasked", &ruling, RULING_VOID, "compared no lengths");

    checks[2].made = false;
    ruling_init(&ruling);
    tool_judge_checks(checks + 2, 1, &ruling);
    recorded_expect("no check", &ruling, RULING_VOID, "no replies were verified after the run");
    checks[0].sent = checks[0].verified = 0;
    ruling_init(&ruling);
    tool_judge_checks(checks, 1, &ruling);
    recorded_expect("an empty check", &ruling, RULING_VOID, "no replies were verified before the run");
}

static void altered_outputs(void)
{
    static const struct {
        const char *was, *now;
        enum ruling_status status;
        const char *reason;
    } cases[] = {
        {"Failed requests:        0", "Failed requests:        1", RULING_VOID, "1 requests failed"},
        {"Keep-Alive requests:", "Write errors:           3\nKeep-Alive requests:", RULING_VOID,
         "3 requests could not be written"},
        {"Keep-Alive requests:", "Non-2xx responses:      2\nKeep-Alive requests:", RULING_VOID,
         "2 of 2000 replies had another status"},
        {"Keep-Alive requests:    2000", "Keep-Alive requests:    1999", RULING_VOID, "only 1999 of 2000"},
        {"Complete requests:      2000", "Complete requests:      1999", RULING_VOID,
         "1999 requests were completed, not the 2000"},
        {"Complete requests:      2000", "Complete requests:      0", RULING_FAILED, "completed no request"},
        {"Concurrency Level:      4", "Concurrency Level:      3", RULING_FAILED,
         "ab ran with 3 requests at once, not 4"},
        {"Document Length:        450", "Document Length:        451", RULING_VOID, "had 451 bytes, not 450"},
        {"Document Length:        450 bytes\n", "", RULING_FAILED, "\"Document Length:\" is missing"},
        {"Requests per second:    ", "Requests per second:    1", RULING_FAILED, "contradict"},
        {"Time per request:       ", "Time per request:       1", RULING_FAILED, "contradict"},
        {"Requests per second:    ", "Requests per second:    x", RULING_FAILED,
         "\"Requests per second:\" cannot be read"},
        {"Requests per second:    ", "Requests per second:    -", RULING_FAILED, "no rate"},
        {"Requests per second:", "Requests per minute:", RULING_FAILED, "is missing"},
        {"Complete requests:", "Complete requests:      2000\nComplete requests:", RULING_FAILED, "is there twice"},
        {"Complete requests:      2000", "Complete requests:      99999999999999999999", RULING_FAILED,
         "cannot be read"},
        {"Complete requests:      2000", "Complete requests:      -1", RULING_FAILED, "cannot be read"},
        {"Complete requests:      2000", "Complete requests:      2000.5", RULING_FAILED, "cannot be read"},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_settings settings = usual(2000);
        recorded_read("ab-good", "stdout", &recorded);
        recorded_edit(&recorded, cases[i].was, cases[i].now);
        struct ruling ruling = judge(&settings, recorded_exit(0));
        recorded_expect(cases[i].now, &ruling, cases[i].status, cases[i].reason);
    }
}

static void broken_outputs(void)
{
    struct tool_settings settings = usual(2000);
    recorded_read("ab-good", "stdout", &recorded);
    recorded_with_commas(&recorded);
    struct ruling ruling = judge(&settings, recorded_exit(0));
    recorded_expect("commas", &ruling, RULING_FAILED, "has a decimal comma: it ran without LC_ALL=C");
    recorded.length = 0;
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("nothing", &ruling, RULING_FAILED, "ab's output is not whole: it printed nothing");
    recorded_read("ab-good", "stdout", &recorded);
    recorded.length /= 2;
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("half", &ruling, RULING_FAILED, "is missing");
    recorded_read("ab-good", "stdout", &recorded);
    recorded.text[strstr(recorded.text, "Complete") - recorded.text] = '\0';
    ruling = judge(&settings, recorded_exit(0));
    recorded_expect("a NUL", &ruling, RULING_FAILED, "is missing");
}

static const struct suite_case cases[] = {
    {"the numbers of a good run", numbers_of_a_good_run},
    {"every number to the digit", exact_numbers},
    {"no prefix of a recording is whole", no_prefix_is_whole},
    {"one request has no percentages", one_request},
    {"the file of times, whole and cut", times},
    {"altered files of times", altered_times},
    {"recordings are judged", recordings_are_judged},
    {"what was asked for decides", settings_decide},
    {"a run by time", a_run_by_time},
    {"pages of variable length rest on other checks", pages_of_variable_length},
    {"altered outputs, rule by rule", altered_outputs},
    {"broken outputs", broken_outputs},
};

int main(int argc, char **argv)
{
    return suite_main("bench_ab", cases, SUITE_COUNT(cases), argc, argv);
}
