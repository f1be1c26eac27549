/* test_bench_load_options.c: the command line of `millbench load`, its URLs and the requests made of them. */
#include <CUnit/CUnit.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load/load_options.h"
#include "load/load_url.h"
#include "suite.h"

#define WORDS_MAX 32

/* Splits at blanks; `+` stands for a blank in a word. Its complaints go to /dev/null. */
static int read_line(struct load_options *options, const char *line)
{
    static char text[512], name[] = "load";
    char *words[WORDS_MAX + 1] = {name}, *state = NULL;
    int count = 1, quiet = open("/dev/null", O_WRONLY), before = dup(2);
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &state); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &state)) {
        for (char *at = word; *at != '\0'; at++)
            if (*at == '+')
                *at = ' ';
        words[count++] = word;
    }
    fflush(stderr);
    dup2(quiet, 2);
    int status = load_options_read(options, count, words);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    close(quiet);
    return status;
}

static void what_is_usual(void)
{
    struct load_options options;
    CU_ASSERT_FATAL(read_line(&options, "http://h/") == 0);
    CU_ASSERT(options.connections == 32 && options.window_us == 10000000 && options.requests == 0 &&
              options.rate_per_s == 0);
    CU_ASSERT(options.processes >= 1 && options.processes <= 32 && options.timeout_us == 10000000 && !options.closes);
    CU_ASSERT_STRING_EQUAL(options.url, "http://h/");
    CU_ASSERT_FATAL(read_line(&options, "-r 100 http://h/") == 0);
    CU_ASSERT(options.connections == 256 && options.rate_per_s == 100);
    CU_ASSERT_FATAL(read_line(&options, "-n 5 http://h/") == 0);
    CU_ASSERT(options.connections == 5 && options.processes <= 5 && options.window_us == 0 && options.requests == 5);
}

static void every_option(void)
{
    struct load_options options;
    CU_ASSERT_FATAL(read_line(&options, "-c 7 -d 0.5 -r 12.5 -w 1.5 -p 3 --close --source 127.0.0.2-20 --timeout 0.25 "
                                        "-H X:+y --method HEAD") == 2); /* no URL */
    CU_ASSERT_FATAL(read_line(&options,
                              "-c7 -d 0.5 -r 12.5 -w 1.5 -p 3 --close --source 127.0.0.2-20 --timeout 0.25 --slow 9 "
                              "http://h/") == 0);
    CU_ASSERT(options.connections == 7 && options.window_us == 500000 && options.rate_per_s == 12.5);
    CU_ASSERT(options.warm_up_us == 1500000 && options.processes == 3 && options.closes &&
              options.timeout_us == 250000);
    CU_ASSERT(options.source_first == 0x7f000002 && options.source_count == 19 && options.slow_us == 9);
    CU_ASSERT_FATAL(read_line(&options, "-p 9 -c 4 -H X:+y -H Z: --method HEAD --json http://h/") == 0);
    CU_ASSERT(options.processes == 4 && options.field_count == 2 && options.json && options.json_file == NULL);
    CU_ASSERT_FATAL(read_line(&options, "--json=f --expect 5:0123456789abcdef --expect 6:0123456789abcdef http://h/") ==
                    0);
    CU_ASSERT(!options.json && options.json_file != NULL && strcmp(options.json_file, "f") == 0);
    CU_ASSERT_EQUAL(options.expected.count, 2);
    load_options_fini(&options);
    CU_ASSERT_FATAL(read_line(&options, "--source 127.0.0.9 http://h/") == 0 && options.source_count == 1);
    CU_ASSERT_FATAL(read_line(&options, "--help") == 0 && options.help);
    CU_ASSERT_FATAL(read_line(&options, "--hash a b") == 0 && options.hashed != NULL && options.hashed[1] != NULL);
}

static void bad_usage(void)
{
    static const char *const lines[] = {
        "",
        "-c 0 http://h/",
        "-c x http://h/",
        "-c 1.5 http://h/",
        "-c -1 http://h/",
        "-d 0 http://h/",
        "-d 1e3 http://h/",
        "-d nan http://h/",
        "-d . http://h/",
        "-n 0 http://h/",
        "-n 5 -d 5 http://h/",
        "-r 0 http://h/",
        "-r -1 http://h/",
        "-w -1 http://h/",
        "-p 0 http://h/",
        "-p 257 http://h/",
        "--timeout 0 http://h/",
        "--slow x http://h/",
        "--source 10.0.0.1-10.0.0.2 http://h/",
        "--source 127.0.0.9-2 http://h/",
        "--source x http://h/",
        "--source 127.0.0.1-300 http://h/",
        "--expect 5 http://h/",
        "--expect 5:xyz http://h/",
        "-H nonsense http://h/",
        "-H :+x http://h/",
        "-H a+b:c http://h/",
        "--method get http://h/",
        "--method CONNECT http://h/",
        "--method  http://h/ x",
        "--nonsense http://h/",
        "-z http://h/",
        "-c",
        "http://h/ http://g/",
        "--hash",
        "-n 99999999999999999999 http://h/",
    };
    struct load_options options;
    for (size_t i = 0; i < SUITE_COUNT(lines); i++) {
        SUITE_CHECK(read_line(&options, lines[i]) == 2, "'%s' is taken", lines[i]);
        load_options_fini(&options);
    }
    CU_ASSERT_EQUAL(read_line(&options, "--expect-file /nonexistent http://h/"), 1);
    CU_ASSERT_EQUAL(read_line(&options, "--expect-list /nonexistent http://h/"), 1);
    CU_ASSERT_EQUAL(read_line(&options, "--expect-list /dev/null http://h/"), 1);
}

static void urls(void)
{
    static const struct {
        const char *text, *host, *port, *authority, *target; /* host NULL: refused */
    } urls[] = {
        {"http://127.0.0.1:8080/a?b#c", "127.0.0.1", "8080", "127.0.0.1:8080", "/a?b"},
        {"HTTP://h", "h", "80", "h", ""},
        {"http://h?x", "h", "80", "h", "?x"},
        {"http://[::1]:81/", "::1", "81", "[::1]:81", "/"},
        {"http://[::1]", "::1", "80", "[::1]", ""},
        {"https://h/", NULL, "", "", ""},
        {"ftp://h/", NULL, "", "", ""},
        {"h/", NULL, "", "", ""},
        {"http:///x", NULL, "", "", ""},
        {"http://:80/", NULL, "", "", ""},
        {"http://h:/", NULL, "", "", ""},
        {"http://h:0/", NULL, "", "", ""},
        {"http://h:65536/", NULL, "", "", ""},
        {"http://h:8x/", NULL, "", "", ""},
        {"http://[::1/", NULL, "", "", ""},
        {"http://[::1]x/", NULL, "", "", ""},
        {"http://u@h/", NULL, "", "", ""},
        {"http://h/a b", NULL, "", "", ""},
        {"http://h/\r\nX: y", NULL, "", "", ""},
        {"http://h/\xc3\xa4", NULL, "", "", ""},
    };
    for (size_t i = 0; i < SUITE_COUNT(urls); i++) {
        struct load_url url;
        const char *why = load_url_parse(&url, urls[i].text);
        SUITE_CHECK((why == NULL) == (urls[i].host != NULL), "%s: %s", urls[i].text, why ? why : "taken");
        if (why != NULL)
            continue;
        SUITE_CHECK(strcmp(url.host, urls[i].host) == 0 && strcmp(url.port, urls[i].port) == 0 &&
                        strcmp(url.authority, urls[i].authority) == 0 && url.target_length == strlen(urls[i].target) &&
                        strncmp(url.target, urls[i].target, url.target_length) == 0,
                    "%s: %s %s %s %.*s", urls[i].text, url.host, url.port, url.authority, (int)url.target_length,
                    url.target);
    }
}

static void requests(void)
{
    static const struct {
        const char *line, *request;
    } requests[] = {
        {"http://h:81/a?b", "GET /a?b HTTP/1.1\r\nHost: h:81\r\n\r\n"},
        {"http://h?x", "GET /?x HTTP/1.1\r\nHost: h\r\n\r\n"},
        {"--close http://h", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
        {"--close -H Connection:+x http://h", "GET / HTTP/1.1\r\nHost: h\r\nConnection: x\r\n\r\n"},
        {"-H host:+g -H A:b --method HEAD http://h/", "HEAD / HTTP/1.1\r\nhost: g\r\nA:b\r\n\r\n"},
        {"--method POST http://h/", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
    };
    for (size_t i = 0; i < SUITE_COUNT(requests); i++) {
        struct load_options options;
        struct load_url url;
        CU_ASSERT_FATAL(read_line(&options, requests[i].line) == 0 && load_url_parse(&url, options.url) == NULL);
        char *request = load_url_request(&url, &options);
        SUITE_CHECK(strcmp(request, requests[i].request) == 0, "%s: '%s'", requests[i].line, request);
        free(request);
    }
}

static const struct suite_case cases[] = {
    {"what is usual", what_is_usual}, {"every option", every_option}, {"bad usage", bad_usage}, {"URLs", urls},
    {"requests", requests},
};

int main(int argc, char **argv)
{
    return suite_main("bench_load_options", cases, SUITE_COUNT(cases), argc, argv);
}
