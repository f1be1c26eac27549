/*
 * load_options.c: getopt, and what each option may be.
 */
#include "load/load_options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "load/load_url.h"

#define WINDOW_DEFAULT_S   10
#define CONNECTIONS_CLOSED 32
#define CONNECTIONS_OPEN   256
#define CONNECTIONS_MAX    1000000
#define WINDOW_MAX_S       86400
#define SPARE_DESCRIPTORS  64

const char load_options_usage[] =
    "usage: millbench load [OPTION...] URL\n"
    "       millbench load --hash FILE...      print LEN:HASH of each file, as --expect takes it\n"
    "\n"
    "Sends requests to an HTTP/1.1 server and verifies the length and the XXH3-64 of every body.\n"
    "\n"
    "  -c N           connections (32; with -r at most so many, 256)\n"
    "  -d SECONDS     length of the timed window (10)\n"
    "  -n REQUESTS    that many requests instead of -d\n"
    "  -r RATE        open loop: RATE requests a second at even distances, whatever becomes of the replies; times are "
    "from\n"
    "                 the intended start. Without it: closed loop, each connection sends when its reply is complete\n"
    "  -w SECONDS     warm-up before the window, which counts for nothing (0)\n"
    "  -p PROCESSES   (one for each CPU it may use, at most one for each connection)\n"
    "  -H 'NAME: VALUE'  a field of the request; again for more\n"
    "  --method M     (GET)\n"
    "  --close        a connection for each request\n"
    "  --timeout S    for each request (10)\n"
    "  --source A-B   take turns at these source addresses, for example 127.0.0.2-127.0.0.20\n"
    "  --expect LEN:HASH   a body that is allowed; again for more. Without any the first 2xx body is the standard\n"
    "  --expect-file F     the body in F is allowed\n"
    "  --expect-list F     those on the lines of F are, LEN:HASH each, or as --hash prints them\n"
    "  --json[=FILE]  the result as JSON (millbench-load/1) on standard output, or in FILE\n"
    "  --slow US      burn US microseconds of CPU for each request, to test what judges the results\n"
    "\n"
    "Exit status: 0 all was as asked and every reply verified; 1 not; 2 bad usage. Ctrl-C ends it and prints what was "
    "measured.\n";

enum { CLOSE = 256, SOURCE, EXPECT, EXPECT_FILE, EXPECT_LIST, TIMEOUT, METHOD, JSON, SLOW, HASH, HELP };

static const struct option longs[] = {
    {"close", no_argument, NULL, CLOSE},
    {"source", required_argument, NULL, SOURCE},
    {"expect", required_argument, NULL, EXPECT},
    {"expect-file", required_argument, NULL, EXPECT_FILE},
    {"expect-list", required_argument, NULL, EXPECT_LIST},
    {"timeout", required_argument, NULL, TIMEOUT},
    {"method", required_argument, NULL, METHOD},
    {"json", optional_argument, NULL, JSON},
    {"slow", required_argument, NULL, SLOW},
    {"hash", no_argument, NULL, HASH},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

/* -- single values ----------------------------------------------------------------------------------------------- */

static int bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int bad(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("millbench load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("; millbench load --help tells more\n", stderr);
    va_end(arguments);
    return 2;
}

static int read_whole(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    size_t digits = strspn(text, "0123456789");
    errno = 0;
    *value = strtoull(text, NULL, 10);
    if (digits == 0 || text[digits] != '\0' || errno != 0 || *value < least || *value > most)
        return bad("%s %s: must be a whole number from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return 0;
}

static int read_int(const char *option, const char *text, int most, int *value)
{
    uint64_t number;
    int status = read_whole(option, text, 1, (uint64_t)most, &number);
    *value = (int)number;
    return status;
}

static int read_real(const char *option, const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (strspn(text, "0123456789.") != strlen(text) || end == text || *end != '\0' ||
        !(*value >= least && *value <= most))
        return bad("%s %s: must be a number from %g to %.0f", option, text, least, most);
    return 0;
}

static int read_seconds(const char *option, const char *text, double least, int64_t *value_us)
{
    double seconds;
    int status = read_real(option, text, least, WINDOW_MAX_S, &seconds);
    *value_us = status == 0 ? (int64_t)(seconds * 1e6) : 0;
    return status;
}

/* An address, or only its last part, when `first` has said the others. */
static bool read_address(const char *text, const uint32_t *first, uint32_t *address)
{
    struct in_addr whole;
    size_t digits = strspn(text, "0123456789");
    if (inet_pton(AF_INET, text, &whole) == 1) {
        *address = ntohl(whole.s_addr);
        return true;
    }
    if (first == NULL || digits == 0 || digits > 3 || text[digits] != '\0' || atoi(text) > 255)
        return false;
    *address = (*first & 0xffffff00) | (uint32_t)atoi(text);
    return true;
}

static int read_source(struct load_options *options, const char *text)
{
    char from[INET_ADDRSTRLEN] = "";
    uint32_t first = 0, last = 0;
    size_t length = strcspn(text, "-");
    if (length < sizeof from)
        memcpy(from, text, length);
    if (!read_address(from, NULL, &first) ||
        !read_address(text[length] == '-' ? text + length + 1 : from, &first, &last) || last < first ||
        last - first > 65535 || first >> 24 != 127 || last >> 24 != 127)
        return bad("--source %s: must be two addresses of 127.0.0.0/8, such as 127.0.0.2-127.0.0.20", text);
    options->source_first = first;
    options->source_count = last - first + 1;
    return 0;
}

static int read_expected(struct load_options *options, const char *text)
{
    struct body body;
    if (body_set_parse(&body, text) < 0)
        return bad(
            "--expect %s: must be LEN:HASH, HASH of 16 hexadecimal digits (millbench load --hash FILE prints it)",
            text);
    body_set_add(&options->expected, body);
    return 0;
}

static int unreadable(const char *option, const char *path)
{
    fprintf(stderr, "millbench load: %s: %s: %s\n", option, path, strerror(errno));
    return 1;
}

static int read_expected_file(struct load_options *options, const char *path)
{
    struct body body;
    if (body_set_read_file(&body, path) < 0)
        return unreadable("--expect-file", path);
    body_set_add(&options->expected, body);
    return 0;
}

static int read_expected_list(struct load_options *options, const char *path)
{
    unsigned line;
    size_t before = options->expected.count;
    if (body_set_read_list(&options->expected, path, &line) < 0) {
        if (line == 0)
            return unreadable("--expect-list", path);
        fprintf(stderr, "millbench load: --expect-list: %s:%u: no LEN:HASH, HASH of 16 hexadecimal digits\n", path,
                line);
        return 1;
    }
    if (options->expected.count == before && before == 0) {
        fprintf(stderr, "millbench load: --expect-list: %s: has no line LEN:HASH, so no body would be right\n", path);
        return 1;
    }
    return 0;
}

static int read_field(struct load_options *options, const char *text)
{
    if (options->field_count == LOAD_OPTIONS_FIELDS_MAX)
        return bad("-H: at most %d fields", LOAD_OPTIONS_FIELDS_MAX);
    if (!load_url_is_field(text))
        return bad("-H '%s': must be 'NAME: VALUE' on one line", text);
    options->fields[options->field_count++] = text;
    return 0;
}

static int read_method(struct load_options *options, const char *text)
{
    if (text[0] == '\0' || strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen(text) || strcmp(text, "CONNECT") == 0)
        return bad("--method %s: must be a method in capitals, and not CONNECT", text);
    options->method = text;
    return 0;
}

/* -- the command line -------------------------------------------------------------------------------------------- */

static int read_long(struct load_options *options, int option)
{
    uint64_t number;
    int status;
    switch (option) {
    case CLOSE:
        options->closes = true;
        return 0;
    case SOURCE:
        return read_source(options, optarg);
    case EXPECT:
        return read_expected(options, optarg);
    case EXPECT_FILE:
        return read_expected_file(options, optarg);
    case EXPECT_LIST:
        return read_expected_list(options, optarg);
    case TIMEOUT:
        return read_seconds("--timeout", optarg, 0.001, &options->timeout_us);
    case METHOD:
        return read_method(options, optarg);
    case JSON:
        options->json = optarg == NULL;
        options->json_file = optarg;
        return 0;
    case SLOW:
        status = read_whole("--slow", optarg, 0, 1000000, &number);
        options->slow_us = (int64_t)number;
        return status;
    default:
        return bad("see the usage");
    }
}

static int read_short(struct load_options *options, int option)
{
    switch (option) {
    case 'c':
        return read_int("-c", optarg, CONNECTIONS_MAX, &options->connections);
    case 'd':
        return read_seconds("-d", optarg, 0.01, &options->window_us);
    case 'n':
        return read_whole("-n", optarg, 1, UINT64_C(1000000000000), &options->requests);
    case 'r':
        return read_real("-r", optarg, 0.01, 10000000, &options->rate_per_s);
    case 'w':
        return read_seconds("-w", optarg, 0, &options->warm_up_us);
    case 'p':
        return read_int("-p", optarg, LOAD_OPTIONS_PROCESSES_MAX, &options->processes);
    case 'H':
        return read_field(options, optarg);
    default:
        return read_long(options, option);
    }
}

/* One for each CPU; more when one alone may not have so many descriptors. */
static int usual_processes(int connections)
{
    cpu_set_t cpus;
    struct rlimit files = {.rlim_max = RLIM_INFINITY};
    int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max != RLIM_INFINITY && files.rlim_max > SPARE_DESCRIPTORS) {
        rlim_t each = files.rlim_max - SPARE_DESCRIPTORS, needed = ((rlim_t)connections + each - 1) / each;
        if (needed > (rlim_t)count && needed <= LOAD_OPTIONS_PROCESSES_MAX)
            count = (int)needed;
    }
    return count < LOAD_OPTIONS_PROCESSES_MAX ? count : LOAD_OPTIONS_PROCESSES_MAX;
}

static int complete(struct load_options *options)
{
    if (options->window_us > 0 && options->requests > 0)
        return bad("-d and -n: one of them says when it ends");
    if (options->window_us == 0 && options->requests == 0)
        options->window_us = INT64_C(1000000) * WINDOW_DEFAULT_S;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? CONNECTIONS_OPEN : CONNECTIONS_CLOSED;
    if (options->rate_per_s == 0 && options->requests > 0 && (uint64_t)options->connections > options->requests)
        options->connections = (int)options->requests;
    if (options->processes == 0)
        options->processes = usual_processes(options->connections);
    if (options->processes > options->connections)
        options->processes = options->connections;
    return 0;
}

int load_options_read(struct load_options *options, int argc, char **argv)
{
    int option, status = 0;
    *options = (struct load_options){.timeout_us = INT64_C(10000000), .method = "GET"};
    optind = 0;
    opterr = 0;
    while (status == 0 && (option = getopt_long(argc, argv, ":c:d:n:r:w:p:H:", longs, NULL)) >= 0) {
        if (option == HELP) {
            options->help = true;
            return 0;
        }
        if (option == HASH)
            options->hashed = argv; /* to where they begin: below */
        else if (option == '?' || option == ':')
            status = bad("%s: %s", argv[optind - 1], option == '?' ? "no such option" : "an argument is missing");
        else
            status = read_short(options, option);
    }
    if (status != 0)
        return status;
    if (options->hashed != NULL) {
        options->hashed = argv + optind;
        return argc > optind ? 0 : bad("--hash: which file?");
    }
    if (argc != optind + 1)
        return argc == optind ? bad("which URL?") : bad("%s: one URL at a time", argv[optind + 1]);
    options->url = argv[optind];
    return complete(options);
}

void load_options_fini(struct load_options *options)
{
    body_set_fini(&options->expected);
}
