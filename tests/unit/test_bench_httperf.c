/*
 * test_bench_httperf.c: httperf's recorded outputs whole, cut and altered, each rule about them, and what limited it.
 */
#include <math.h>

#include "bench/recorded.h"
#include "tools/httperf.h"

static struct recorded recorded;
static struct httperf_reading reading;

static struct tool_settings usual(int64_t requests)
{
    return (struct tool_settings){.url = "http://127.0.0.1:8080/hello",
                                  .concurrency = 4,
                                  .requests = requests,
                                  .keep_alive = true,
                                  .body_bytes = 450};
}

static struct ruling judge(const struct tool_settings *settings)
{
    struct ruling ruling;
    struct tool_exit ended = recorded_exit(0);
    struct span text = guard_copy(recorded.text, recorded.length);
    int whole = httperf_read((const char *)text.at, text.length, &reading);
    CU_ASSERT_EQUAL(whole == 0, reading.fault == NULL);
    ruling_init(&ruling);
    httperf_judge(&reading, settings, &ended, &ruling);
    return ruling;
}

/* -- reading ---------------------------------------------------------------------------------------------------- */

static void exact_numbers(void)
{
    static const char text[] =
        "httperf --hog --timeout=2.5 --client=0/1 --server=127.0.0.1 --port=1 --uri=/h --rate=12.5 --send-buffer=4096 "
        "--recv-buffer=16384 --num-conns=41 --num-calls=1001\n"
        "Maximum connect burst length: 2\n\n"
        "Total: connections 40 requests 40001 replies 40000 test-duration 12.037 s\n\n"
        "Connection rate: 3.3 conn/s (300.9 ms/conn, <=39 concurrent connections)\n"
        "Connection time [ms]: min 12028.4 avg 12031.1 max 12033.8 median 12030.5 stddev 2.3\n"
        "Connection time [ms]: connect 0.5\n"
        "Connection length [replies/conn]: 1000.000\n\n"
        "Request rate: 3323.2 req/s (0.3 ms/req)\n"
        "Request size [B]: 67.0\n\n"
        "Reply rate [replies/s]: min 3319.2 avg 3319.6 max 3320.0 stddev 0.6 (2 samples)\n"
        "Reply time [ms]: response 200.1 transfer 0.7\n"
        "Reply size [B]: header 80.0 content 450.0 footer 0.0 (total 530.0)\n"
        "Reply status: 1xx=1 2xx=39900 3xx=2 4xx=3 5xx=94\n\n"
        "CPU time [s]: user 3.44 system 8.58 (user 28.6% system 71.3% total 99.9%)\n"
        "Net I/O: 11.6 KB/s (0.1*10^6 bps)\n\n"
        "Errors: total 36 client-timo 1 socket-timo 2 connrefused 3 connreset 4\n"
        "Errors: fd-unavail 5 addrunavail 6 ftab-full 7 other 8\n";
    struct httperf_reading is;
    CU_ASSERT_EQUAL(httperf_read(text, sizeof text - 1, &is), 0);
    CU_ASSERT(is.asked_connections == 41 && is.asked_calls == 1001 && is.asked_per_s == 12.5);
    CU_ASSERT(is.asked_recv_buffer_bytes == 16384 && is.connect_burst == 2);
    CU_ASSERT(is.connections == 40 && is.requests == 40001 && is.replies == 40000 && is.duration_s == 12.037);
    CU_ASSERT(is.connections_per_s == 3.3 && is.concurrent_max == 39);
    CU_ASSERT(is.connection_min_ms == 12028.4 && is.connection_avg_ms == 12031.1 && is.connection_max_ms == 12033.8);
    CU_ASSERT(is.connection_median_ms == 12030.5 && is.connect_ms == 0.5 && is.replies_per_connection == 1000);
    CU_ASSERT(is.requests_per_s == 3323.2 && is.response_ms == 200.1 && is.transfer_ms == 0.7);
    CU_ASSERT(is.sampled_min == 3319.2 && is.sampled_avg == 3319.6 && is.sampled_max == 3320 && is.samples == 2);
    CU_ASSERT(is.header_bytes == 80 && is.content_bytes == 450);
    CU_ASSERT(is.replies_1xx == 1 && is.replies_2xx == 39900 && is.replies_3xx == 2 && is.replies_4xx == 3);
    CU_ASSERT(is.replies_5xx == 94 && is.errors == 36 && is.client_timeouts == 1 && is.socket_timeouts == 2);
    CU_ASSERT(is.refused == 3 && is.reset == 4 && is.descriptors_unavailable == 5 && is.addresses_unavailable == 6);
    CU_ASSERT(is.table_full == 7 && is.other == 8);
    CU_ASSERT_DOUBLE_EQUAL(httperf_rate_per_s(&is), 40000 / 12.037, 1e-9);
}

/* Without samples its rate is not 0: there is none. */
static void no_samples(void)
{
    recorded_read("httperf-good", "stdout", &recorded);
    CU_ASSERT_EQUAL(httperf_read(recorded.text, recorded.length, &reading), 0);
    CU_ASSERT_EQUAL(reading.samples, 0);
    CU_ASSERT(isnan(reading.sampled_avg) && isnan(reading.sampled_min) && isnan(reading.sampled_max));
    CU_ASSERT(httperf_rate_per_s(&reading) > 100);
    recorded_read("httperf-sampled", "stdout", &recorded);
    CU_ASSERT_EQUAL(httperf_read(recorded.text, recorded.length, &reading), 0);
    CU_ASSERT_EQUAL(reading.samples, 2);
    CU_ASSERT_DOUBLE_EQUAL(reading.sampled_avg, 20, 1);
    recorded_read("httperf-refused", "stdout", &recorded);
    CU_ASSERT_EQUAL(httperf_read(recorded.text, recorded.length, &reading), 0);
    CU_ASSERT(isnan(httperf_rate_per_s(&reading)));
}

static void no_prefix_is_whole(void)
{
    static const char *const recordings[] = {
        "httperf-good",      "httperf-big",     "httperf-burst",      "httperf-connections", "httperf-late",
        "httperf-few-calls", "httperf-hundred", "httperf-unkept",     "httperf-non-2xx",     "httperf-moved",
        "httperf-refused",   "httperf-length",  "httperf-reset",      "httperf-cut",         "httperf-close",
        "httperf-nothing",   "httperf-status",  "httperf-bodies",     "httperf-stall",       "httperf-silence",
        "httperf-unframed",  "httperf-sampled", "httperf-descriptors"};
    struct tool_settings settings = usual(0);
    settings.body_bytes = -1;
    for (size_t i = 0; i < SUITE_COUNT(recordings); i++) {
        recorded_read(recordings[i], "stdout", &recorded);
        CU_ASSERT_EQUAL(httperf_read(recorded.text, recorded.length, &reading), 0);
        while (recorded.length-- > 0) {
            struct ruling ruling = judge(&settings);
            SUITE_CHECK(reading.fault != NULL && ruling.status == RULING_FAILED, "%s: %zu bytes are taken as whole",
                        recordings[i], recorded.length);
        }
    }
}

/* -- rules ------------------------------------------------------------------------------------------------------ */

static void recordings_are_judged(void)
{
    static const struct {
        const char *name;
        int64_t requests;
        enum ruling_status status;
        const char *reason;
    } cases[] = {
        {"httperf-good", 2000, RULING_ACCEPTED, NULL},
        {"httperf-burst", 2000, RULING_ACCEPTED, NULL},
        {"httperf-sampled", 240, RULING_ACCEPTED, NULL},
        {"httperf-big", 2000, RULING_VOID, "bodies had 23888.0 bytes on average, not 450"},
        {"httperf-few-calls", 40, RULING_VOID, "connections were open"},
        {"httperf-hundred", 2000, RULING_VOID, "4 connections were reset or closed early (connreset)"},
        {"httperf-hundred", 2000, RULING_VOID, "400 replies came, not the 2000 that were asked for"},
        {"httperf-hundred", 2000, RULING_VOID, "4 of 404 requests had no reply"},
        {"httperf-unkept", 2000, RULING_VOID, "each connection ended after one reply; perhaps the replies have no"},
        {"httperf-unframed", 200, RULING_VOID, "each connection ended after one reply; perhaps the replies have no"},
        {"httperf-non-2xx", 2000, RULING_VOID,
         "2000 of 2000 replies had another status than 2xx (1xx 0, 3xx 0, 4xx 0, 5xx 2000)"},
        {"httperf-moved", 2000, RULING_VOID, "3xx 2000"},
        {"httperf-status", 200, RULING_VOID, "20 of 200 replies had another status"},
        {"httperf-refused", 2000, RULING_FAILED, "httperf got no reply"},
        {"httperf-refused", 2000, RULING_FAILED, "4 connections were refused (connrefused)"},
        {"httperf-length", 200, RULING_VOID, "bodies had 449.0 bytes on average, not 450"},
        {"httperf-reset", 200, RULING_VOID, "(connreset)"},
        {"httperf-cut", 200, RULING_VOID, "(connreset)"},
        {"httperf-close", 200, RULING_VOID, "(connreset)"},
        {"httperf-nothing", 200, RULING_VOID, "(connreset)"},
        {"httperf-silence", 200, RULING_VOID, "4 requests timed out (client-timo)"},
        {"httperf-descriptors", 4500, RULING_VOID, "no descriptor that select can take (fd-unavail)"},
        {"httperf-stall", 200, RULING_ACCEPTED, NULL}, /* slow, but right */
        {"httperf-good", 4000, RULING_VOID, "httperf was asked for 2000 requests, not for 4000"},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_settings settings = usual(cases[i].requests);
        recorded_read(cases[i].name, "stdout", &recorded);
        struct ruling ruling = judge(&settings);
        recorded_expect(cases[i].name, &ruling, cases[i].status, cases[i].reason);
    }
}

static void settings_decide(void)
{
    struct tool_settings settings = usual(500);
    settings.keep_alive = false;
    settings.connections_per_s = 500;
    recorded_read("httperf-connections", "stdout", &recorded);
    struct ruling ruling = judge(&settings);
    recorded_expect("a connection each", &ruling, RULING_ACCEPTED, NULL);

    settings = usual(2000);
    settings.body_bytes = 23888;
    recorded_read("httperf-big", "stdout", &recorded);
    ruling = judge(&settings);
    recorded_expect("a larger page", &ruling, RULING_ACCEPTED, NULL);
    recorded_edit(&recorded, "--recv-buffer=24912", "--recv-buffer=16384");
    ruling = judge(&settings);
    recorded_expect("its own buffer", &ruling, RULING_VOID, "16384 bytes was smaller than the page of 23888");
    settings.recv_buffer_bytes = 16384;
    ruling = judge(&settings);
    recorded_expect("asked for", &ruling, RULING_ACCEPTED, NULL);

    settings = usual(2000);
    settings.variable_length = true;
    recorded_read("httperf-good", "stdout", &recorded);
    recorded_edit(&recorded, "content 450.0", "content 417.0");
    ruling = judge(&settings);
    recorded_expect("a variable page", &ruling, RULING_ACCEPTED, NULL);

    settings = usual(2000);
    settings.concurrency = 5;
    recorded_read("httperf-good", "stdout", &recorded);
    ruling = judge(&settings);
    recorded_expect("4 of 5", &ruling, RULING_VOID, "4 connections were open at once, not 5");
}

static void altered_outputs(void)
{
    static const struct {
        const char *was, *now;
        enum ruling_status status;
        const char *reason;
    } cases[] = {
        {"total 0 client-timo 0", "total 1 client-timo 1", RULING_VOID, "1 requests timed out (client-timo)"},
        {"total 0 client-timo 0 socket-timo 0", "total 2 client-timo 0 socket-timo 2", RULING_VOID,
         "2 connections timed out (socket-timo)"},
        {"connrefused 0", "connrefused 3", RULING_VOID, "3 connections were refused (connrefused)"},
        {"connreset 0", "connreset 4", RULING_VOID, "4 connections were reset or closed early (connreset)"},
        {"fd-unavail 0", "fd-unavail 5", RULING_VOID, "5 connections found no descriptor"},
        {"addrunavail 0", "addrunavail 6", RULING_VOID, "6 connections found no address"},
        {"ftab-full 0", "ftab-full 7", RULING_VOID, "7 connections found the system's table"},
        {"other 0", "other 8", RULING_VOID, "8 other errors, perhaps no port free (other)"},
        {"total 0 ", "total 9 ", RULING_VOID, "9 errors of no kind that is named"},
        {"replies 2000", "replies 1999", RULING_VOID, "1 of 2000 requests had no reply"},
        {"replies 2000", "replies 1999", RULING_VOID, "1999 replies came, not the 2000"},
        {"2xx=2000", "2xx=1999", RULING_VOID, "1 of 2000 replies had another status"},
        {"content 450.0", "content 449.0", RULING_VOID, "had 449.0 bytes on average, not 450"},
        {"content 450.0", "content nan", RULING_VOID, "bytes on average, not 450"},
        {"<=4 concurrent", "<=3 concurrent", RULING_VOID, "3 connections were open at once, not 4"},
        {"connections 4 ", "connections 3 ", RULING_VOID, "on average 2."},
        {"max ", "max 100", RULING_VOID, "writes beyond an array"},
        {"test-duration 0", "test-duration 7", RULING_FAILED, "contradict"},
        {"Request rate: ", "Request rate: 9", RULING_FAILED, "contradict"},
        {"Request rate: ", "Request rate: nan req/s (0 ms/req)\nOld rate: ", RULING_FAILED, "contradict"},
        {"httperf --hog", "perf --hog", RULING_FAILED, "repeats the command"},
        {"--num-calls=500", "--num-calls=5x", RULING_FAILED, "repeats the command"},
        {"other 0\n", "other 0\nErrors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0\n", RULING_FAILED,
         "is there twice"},
        {"Errors: total", "Errors: grand total", RULING_FAILED, "\"Errors:\" cannot be read"},
        {"Connection time [ms]: connect", "Connection time: connect", RULING_FAILED, "is missing"},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct tool_settings settings = usual(2000);
        recorded_read("httperf-good", "stdout", &recorded);
        recorded_edit(&recorded, cases[i].was, cases[i].now);
        struct ruling ruling = judge(&settings);
        recorded_expect(cases[i].now, &ruling, cases[i].status, cases[i].reason);
    }
}

static void broken_outputs(void)
{
    struct tool_settings settings = usual(2000);
    struct ruling ruling;
    recorded_read("httperf-good", "stdout", &recorded);
    recorded_edit(&recorded, "test-duration 0.", "test-duration 3,");
    ruling = judge(&settings);
    recorded_expect("3,14", &ruling, RULING_FAILED, "the line \"Total:\" has a decimal comma");
    recorded_read("httperf-good", "stdout", &recorded);
    recorded_with_commas(&recorded);
    ruling = judge(&settings);
    recorded_expect("commas", &ruling, RULING_FAILED, "has a decimal comma: it ran without LC_ALL=C");
    recorded.length = 0;
    ruling = judge(&settings);
    recorded_expect("nothing", &ruling, RULING_FAILED, "httperf's output is not whole: it printed nothing");
    struct tool_exit crashed = {.started = true, .signal = 6, .server_alive = true};
    recorded_read("httperf-good", "stdout", &recorded);
    CU_ASSERT_EQUAL(httperf_read(recorded.text, recorded.length, &reading), 0);
    ruling_init(&ruling);
    httperf_judge(&reading, &settings, &crashed, &ruling);
    recorded_expect("crashed", &ruling, RULING_FAILED, "httperf crashed: signal 6 (Aborted)");
}

static void limits(void)
{
    struct tool_settings settings = usual(2000);
    recorded_read("httperf-good", "stdout", &recorded);
    judge(&settings);
    struct httperf_limits is = httperf_limits(&reading, &settings);
    CU_ASSERT(!is.generator_limited && is.demanded_per_s == 1000 && is.connect_burst <= HTTPERF_BURST_MAX);
    CU_ASSERT(is.mean_concurrency > 3.5 && is.mean_concurrency <= 4.0);

    settings = usual(500);
    settings.keep_alive = false;
    recorded_read("httperf-connections", "stdout", &recorded);
    judge(&settings);
    CU_ASSERT_FALSE(httperf_limits(&reading, &settings).generator_limited);
    /* Fewer connections than demanded: late without errors, not late when errors are the cause. */
    recorded_edit(&recorded, "Connection rate: ",
                  "Connection rate: 399.9 conn/s (2.5 ms/conn, <=3 concurrent connections)\nWas: ");
    judge(&settings);
    is = httperf_limits(&reading, &settings);
    CU_ASSERT(is.generator_limited && is.achieved_per_s < 400 && is.demanded_per_s == 500);
    recorded_edit(&recorded, "total 0 ", "total 1 ");
    judge(&settings);
    CU_ASSERT_FALSE(httperf_limits(&reading, &settings).generator_limited);

    recorded_read("httperf-late", "stdout", &recorded);
    settings.requests = 900;
    struct ruling ruling = judge(&settings);
    recorded_expect("late", &ruling, RULING_ACCEPTED, NULL); /* its numbers are right; they say "at least" */
    CU_ASSERT_TRUE(httperf_limits(&reading, &settings).generator_limited);
}

static const struct suite_case cases[] = {
    {"every number to the digit", exact_numbers},
    {"no samples are no rate of 0", no_samples},
    {"no prefix of a recording is whole", no_prefix_is_whole},
    {"recordings are judged", recordings_are_judged},
    {"what was asked for decides", settings_decide},
    {"altered outputs, rule by rule", altered_outputs},
    {"broken outputs", broken_outputs},
    {"what limited it", limits},
};

int main(int argc, char **argv)
{
    return suite_main("bench_httperf", cases, SUITE_COUNT(cases), argc, argv);
}
