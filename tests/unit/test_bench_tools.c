/*
 * test_bench_tools.c: the commands of ab and httperf, and what is ruled about both in the same way.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>

#include "bench/recorded.h"
#include "tools/ab.h"
#include "tools/httperf.h"

#define URL "http://127.0.0.1:8080/hello"

static struct recorded recorded;
static struct ab_reading reading;

static struct tool_settings usual(int64_t requests)
{
    return (struct tool_settings){
        .url = URL, .concurrency = 4, .requests = requests, .keep_alive = true, .body_bytes = 450};
}

/* -- commands --------------------------------------------------------------------------------------------------- */

static void commands(void)
{
    struct tool_command command;
    struct tool_settings settings = usual(20000);
    CU_ASSERT_EQUAL(ab_command(&settings, &command), 0);
    recorded_expect_line(&command, "ab -k -s 10 -c 4 -n 20000 " URL);
    CU_ASSERT_EQUAL(command.requests, 20000);
    CU_ASSERT(command.limit_s > 0);

    settings.requests = 0;
    settings.seconds = 1.5;
    settings.timeout_s = 3;
    settings.times_file = "raw/it's here/times.csv";
    settings.variable_length = true;
    CU_ASSERT_EQUAL(ab_command(&settings, &command), 0);
    recorded_expect_line(&command, "ab -k -l -s 3 -c 4 -t 2 -n 400000 -e raw/it's here/times.csv " URL);
    CU_ASSERT_STRING_EQUAL(command.argv[12], "raw/it's here/times.csv");
    CU_ASSERT_EQUAL(command.requests, 0);
    CU_ASSERT(command.limit_s > 2 + 3 && command.limit_s < 30);

    settings = usual(300);
    settings.keep_alive = false;
    settings.continue_after_reset = true;
    CU_ASSERT_EQUAL(ab_command(&settings, &command), 0);
    recorded_expect_line(&command, "ab -r -s 10 -c 4 -n 300 " URL);
}

static void commands_at_the_limits(void)
{
    struct tool_command command;
    struct tool_settings settings = usual(20000);
    settings.concurrency = 20000;
    CU_ASSERT_EQUAL(ab_command(&settings, &command), 0);
    settings.requests = 0;
    settings.seconds = 0.01; /* still as many requests as connections */
    CU_ASSERT_EQUAL(ab_command(&settings, &command), 0);
    recorded_expect_line(&command, "ab -k -s 10 -c 20000 -t 1 -n 200000 " URL);
}

static void refused_commands(void)
{
    static const struct {
        const char *url;
        int concurrency;
        int64_t requests;
        double seconds;
        const char *why;
    } cases[] = {
        {URL, 5, 4, 0, "5 requests at once of only 4"},
        {URL, 20001, 50000, 0, "20000 requests at once, not 20001"},
        {URL, 0, 50, 0, "concurrency of 0"},
        {URL, -3, 50, 0, "concurrency of -3"},
        {URL, 4, 0, 0, "neither a number of requests nor a time"},
        {URL, 4, 0, NAN, "neither a number of requests nor a time"},
        {URL, 4, -1, 2, "neither a number of requests nor a time"},
        {URL, 4, 100000001, 0, "100000001 are too many"},
        {URL, 4, 0, 1e12, "cannot run for"},
        {"https://127.0.0.1/", 4, 40, 0, "not of the form"},
        {"http://127.0.0.1", 4, 40, 0, "not of the form"},
        {"http:///x", 4, 40, 0, "not of the form"},
        {"http://127.0.0.1:0/", 4, 40, 0, "not of the form"},
        {"http://127.0.0.1:65536/", 4, 40, 0, "not of the form"},
        {"http://127.0.0.1:/", 4, 40, 0, "not of the form"},
        {"http://127.0.0.1/a b", 4, 40, 0, "not of the form"},
        {"http://-x/", 4, 40, 0, "not of the form"},
        {NULL, 4, 40, 0, "no URL"},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_command command;
        struct tool_settings settings = usual(cases[i].requests);
        settings.url = cases[i].url;
        settings.concurrency = cases[i].concurrency;
        settings.seconds = cases[i].seconds;
        SUITE_CHECK(ab_command(&settings, &command) == -1, "%zu: %s: not refused", i, cases[i].why);
        SUITE_CHECK(strstr(command.why, cases[i].why) != NULL, "%s, not: %s", command.why, cases[i].why);
        SUITE_CHECK(command.argc == 0 && command.argv[0] == NULL, "a refused command has arguments");
    }
}

#define HTTPERF "httperf --hog --timeout=10 --recv-buffer=16384 --server=127.0.0.1 --port=8080 --uri=/hello "

static void httperf_commands(void)
{
    struct tool_command command;
    struct tool_settings settings = usual(40000);
    settings.concurrency = 40;
    CU_ASSERT_EQUAL(httperf_command(&settings, &command), 0);
    recorded_expect_line(&command, HTTPERF "--rate=1000 --num-conns=40 --num-calls=1000");
    CU_ASSERT_EQUAL(command.requests, 40000);
    CU_ASSERT(command.limit_s > 0 && command.limit_s < HTTPERF_HELD_S_MAX);

    settings.body_bytes = 23888;
    settings.url = "http://host.example/a?b=c&d";
    settings.timeout_s = 3;
    settings.connections_per_s = 2.5;
    settings.burst_length = 5;
    settings.close_with_reset = true;
    CU_ASSERT_EQUAL(httperf_command(&settings, &command), 0);
    recorded_expect_line(&command, "httperf --hog --timeout=3 --recv-buffer=24912 --server=host.example --port=80 "
                                   "--uri=/a?b=c&d --rate=2.5 --num-conns=40 --num-calls=1000 --burst-length=5 "
                                   "--close-with-reset");

    settings = usual(500);
    settings.keep_alive = false;
    settings.connections_per_s = 250;
    settings.recv_buffer_bytes = 8192;
    CU_ASSERT_EQUAL(httperf_command(&settings, &command), 0);
    recorded_expect_line(&command, "httperf --hog --timeout=10 --recv-buffer=8192 --server=127.0.0.1 --port=8080 "
                                   "--uri=/hello --rate=250 --num-conns=500 --num-calls=1");
    CU_ASSERT_EQUAL(command.requests, 500);
}

/* From an expected rate: as many as the time needs, rounded up; no more than a server answers on one connection. */
static void httperf_amounts(void)
{
    static const struct {
        double rate, seconds;
        int burst;
        int64_t most, calls;
    } cases[] = {
        {1000, 2, 0, 0, 500},      {1001, 2, 0, 0, 501},   {1, 0.1, 0, 0, 1},        {1001, 2, 5, 0, 505},
        {20000, 2, 0, 1000, 1000}, {1000, 2, 0, 500, 500}, {20000, 2, 3, 1000, 999},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_command command;
        struct tool_settings settings = usual(0);
        settings.rate_per_s = cases[i].rate;
        settings.seconds = cases[i].seconds;
        settings.burst_length = cases[i].burst;
        settings.requests_per_connection = cases[i].most;
        SUITE_CHECK(httperf_command(&settings, &command) == 0, "%zu: %s", i, command.why);
        SUITE_CHECK(command.requests == 4 * cases[i].calls, "%zu: %lld requests", i, (long long)command.requests);
    }
}

static void refused_httperf_commands(void)
{
    static const struct {
        struct tool_settings settings;
        const char *why;
    } cases[] = {
        {{.concurrency = 1001, .requests = 1001, .keep_alive = true}, "1001 connections are more than 1000"},
        {{.concurrency = 4, .seconds = 2, .keep_alive = true}, "without an expected rate"},
        {{.concurrency = 4, .requests = 402, .keep_alive = true}, "402 requests do not divide among 4"},
        {{.concurrency = 4, .requests = 400, .burst_length = 3, .keep_alive = true},
         "100 requests of a connection are no multiple of the burst's 3"},
        {{.concurrency = 4, .requests = 400, .burst_length = 5}, "a burst of 5 requests needs"},
        {{.concurrency = 4, .requests = 400, .burst_length = -5, .keep_alive = true}, "a burst of -5 requests"},
        {{.concurrency = 4, .requests = 400}, "a rate of connections, and none is given"},
        {{.concurrency = 4, .requests = 4004, .requests_per_connection = 1000, .keep_alive = true},
         "closes a connection after 1000 requests"},
        {{.concurrency = 4, .requests = 100000, .rate_per_s = 1000, .keep_alive = true},
         "connections would be held for 100 s"},
        {{.concurrency = 4, .seconds = 120, .rate_per_s = 1000, .keep_alive = true},
         "connections would be held for 120 s"},
        {{.concurrency = 4, .seconds = 1e6, .rate_per_s = 1e6, .keep_alive = true}, "are too many"},
        {{.concurrency = 0, .requests = 400, .keep_alive = true}, "concurrency of 0"},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_command command;
        struct tool_settings settings = cases[i].settings;
        settings.url = URL;
        SUITE_CHECK(httperf_command(&settings, &command) == -1, "%s: not refused", cases[i].why);
        SUITE_CHECK(strstr(command.why, cases[i].why) != NULL, "%s, not: %s", command.why, cases[i].why);
        SUITE_CHECK(command.argc == 0 && command.argv[0] == NULL, "a refused command has arguments");
    }
}

/* However good the output: how the process ended comes first. */
static void ends(void)
{
    static const char refusal[] = "Completed 100 requests\n\napr_socket_recv: Connection reset by peer (104)\nmore\n";
    static const struct {
        struct tool_exit ended;
        const char *reason;
    } cases[] = {
        {{.started = false, .start_errno = ENOENT, .server_alive = true}, "ab is not installed"},
        {{.started = false, .start_errno = EACCES, .server_alive = true}, "ab could not be started: Permission denied"},
        {{.started = false, .server_alive = true}, "ab could not be started"},
        {{.started = true, .signal = SIGSEGV, .server_alive = true}, "ab crashed: signal 11 (Segmentation fault)"},
        {{.started = true, .timed_out = true, .signal = SIGKILL, .seconds = 12.34, .server_alive = true},
         "ab did not end within its time and was ended after 12.3 s"},
        {{.started = true, .exit_status = 1, .server_alive = true}, "ab ended with status 1"},
        {{.started = true, .server_alive = false}, "the server that was measured was gone afterwards"},
        {{.not_made = "the server did not start", .server_alive = true}, "the server did not start"},
    };
    static const char coloured[] = "Completed 100 requests\n\x1b[31mred";
    struct tool_settings settings = usual(2000);
    struct tool_exit reset = recorded_exit(104);
    struct ruling ruling;
    recorded_read("ab-good", "stdout", &recorded);
    CU_ASSERT_EQUAL(ab_read(recorded.text, recorded.length, &reading), 0);
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        ruling_init(&ruling);
        ab_judge(&reading, &settings, &cases[i].ended, &ruling);
        recorded_expect(cases[i].reason, &ruling, RULING_FAILED, cases[i].reason);
        CU_ASSERT_EQUAL(ruling.reason_count, 1);
    }
    reset.errors = guard_copy(refusal, sizeof refusal - 1);
    ruling_init(&ruling);
    tool_judge_exit("ab", &reset, &ruling);
    CU_ASSERT_STRING_EQUAL(ruling.reasons[0],
                           "ab ended with status 104: apr_socket_recv: Connection reset by peer (104)");
    reset.errors = guard_copy(coloured, sizeof coloured - 1);
    ruling_init(&ruling);
    tool_judge_exit("ab", &reset, &ruling);
    CU_ASSERT_STRING_EQUAL(ruling.reasons[0], "ab ended with status 104: ?[31mred");
}

static void rulings(void)
{
    struct ruling ruling;
    ruling_init(&ruling);
    for (int i = 0; i < RULING_REASONS_MAX + 3; i++)
        ruling_void(&ruling, "reason %d", i);
    CU_ASSERT_EQUAL(ruling.reason_count, RULING_REASONS_MAX);
    CU_ASSERT_STRING_EQUAL(ruling.reasons[0], "reason 0");
    CU_ASSERT_STRING_EQUAL(ruling.reasons[RULING_REASONS_MAX - 1], "and more reasons than fit here");
    ruling_init(&ruling);
    ruling_fail(&ruling, "%0*d", 2 * RULING_REASON_BYTES_MAX, 7);
    ruling_void(&ruling, "late");
    ruling_void(&ruling, "late");
    CU_ASSERT_EQUAL(ruling.reason_count, 2);
    CU_ASSERT_EQUAL(ruling.status, RULING_FAILED);
    CU_ASSERT_EQUAL(strlen(ruling.reasons[0]), RULING_REASON_BYTES_MAX - 1);
}

static const struct suite_case cases[] = {
    {"ab's commands", commands},
    {"ab's commands at its limits", commands_at_the_limits},
    {"commands that ab cannot do are refused", refused_commands},
    {"httperf's commands", httperf_commands},
    {"httperf's numbers of requests", httperf_amounts},
    {"commands that httperf cannot do are refused", refused_httperf_commands},
    {"how a tool ended comes first", ends},
    {"rulings collect reasons", rulings},
};

int main(int argc, char **argv)
{
    return suite_main("bench_tools", cases, SUITE_COUNT(cases), argc, argv);
}
