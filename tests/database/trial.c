/* trial.c: the server under test, the two clients, and the judgement of what they have seen. */
#include "trial.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detour.h"
#include "flow/deadline.h"
#include "flow/direct.h"
#include "flow/http.h"
#include "flow/server.h"
#include "lines.h"
#include "postgres.h"
#include "steady.h"
#include "suite.h"

enum {
    TRIAL_BEFORE_MS = 600,
    TRIAL_AFTER_MS = 500,
    TRIAL_STREAK = TRIAL_RATE / 4,
    TRIAL_HELLO_MS = 250,
    TRIAL_LATER_MS = 200,
    TRIAL_IDLE = 8
};

struct trial_page {
    const char *path;
    char body[2500];
    size_t length;
    struct steady *steady;
};

static struct {
    struct server *server;
    int detour_port;
    struct process_children workers;
    long descriptors; /* without HTTP connections, those to PostgreSQL left out */
    struct trial_page page, hello;
    int64_t begin_ms, broken_ms, mended_ms, right_ms, end_ms;
    long log_offset;
} trial;

bool trial_is_long(void)
{
    return getenv("MILLRACE_TEST_LONG") != NULL;
}

/* -- The server
 * -------------------------------------------------------------------------------------------------------- */

struct trial_route {
    const char *path, *app, *options;
    bool on_detour;
    const char *user;
};

static const struct trial_route trial_routes[] = {
    {"/database", "database", "connections = 2", false, "user=millrace"},
    {"/detour", "database", "connections = 2", true, "user=millrace"},
    {"/locked", "database", "connections = 2", false, "user=locked password=right"},
    {"/pg_queries", "pg_queries", "connections = 2", true, "user=millrace"},
    {"/guestbook", "guestbook", "pool = 4" /* TRIAL_IDLE in two workers */, true, "user=millrace"},
};

static void trial_add_route(char *options, size_t room, const struct trial_route *route)
{
    size_t length = strlen(options);
    char host[160];

    if (route->on_detour)
        snprintf(host, sizeof host, "127.0.0.1 port=%d", trial.detour_port);
    else
        snprintf(host, sizeof host, "%s", postgres_folder());
    snprintf(options + length, room - length,
             "app \"%s\" {\n file = \"%s\"\n options {\n conninfo = \"host=%s dbname=millrace %s\"\n %s\n "
             "query_timeout_ms = %d\n }\n}\n",
             route->path, server_app(route->app), host, route->user, route->options, TRIAL_QUERY_TIMEOUT_MS);
}

static void trial_start_server(void)
{
    char options[1800] = "threads = 32\n"; /* the usual number */

    for (size_t i = 0; i < SUITE_COUNT(trial_routes); i++)
        trial_add_route(options, sizeof options, &trial_routes[i]);
    trial.server = direct_start(options);
    trial.workers = server_workers_without(trial.server, 0);
    trial.descriptors = -1;
}

static void trial_need_server(void)
{
    if (trial.detour_port == 0)
        trial.detour_port = detour_start(postgres_socket(), DETOUR_PASS);
    if (!trial.server || trial.server->pid == 0 || !process_runs(trial.server->pid))
        trial_start_server();
    trial.workers = server_workers_without(trial.server, 0);
}

static bool trial_is_right(void *context)
{
    static struct http_answer answer;
    struct trial_page *page = context;
    char request[100];

    snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", page->path);
    http_ask(&answer, direct_address(), request);
    if (answer.status != 200)
        return false;
    SUITE_CHECK(answer.body.length <= sizeof page->body, "%s: %zu bytes", page->path, answer.body.length);
    page->length = answer.body.length;
    memcpy(page->body, answer.body.data, answer.body.length);
    return true;
}

static void trial_learn_page(struct trial_page *page, const char *path)
{
    page->path = path;
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, trial_is_right, page), "%s is not answered: %s", path,
                server_last_line(trial.server, "log"));
    SUITE_CHECK(page->length > 0, "%s is empty", path);
}

/* -- The course of a case
 * ----------------------------------------------------------------------------------------------- */

static void trial_start_clients(struct trial_page *page)
{
    page->steady = steady_start(&(struct steady_options){.address = direct_address(),
                                                         .path = page->path,
                                                         .body = page->body,
                                                         .body_length = page->length,
                                                         .rate = TRIAL_RATE,
                                                         .numbered = strstr(page->path, "token=") != NULL});
}

static void trial_stop_clients(void)
{
    if (trial.page.steady)
        steady_stop(trial.page.steady);
    if (trial.hello.steady)
        steady_stop(trial.hello.steady);
}

static void trial_forget_clients(void)
{
    steady_free(trial.page.steady);
    steady_free(trial.hello.steady);
    trial.page.steady = trial.hello.steady = NULL;
}

/* What the workers have open beside their connections to PostgreSQL; those of the pools that have ended are found when
 * they are lent next. */
static long trial_descriptors(void)
{
    return server_sum(trial.server, process_socket_count) - postgres_session_count();
}

static bool trial_descriptors_are_settled(void *context)
{
    long more = trial_descriptors() - trial.descriptors;

    (void)context;
    return more >= 0 && more <= TRIAL_IDLE;
}

/* The first case finds out what the usual number is: every route was asked by then. */
static void trial_learn_descriptors(void)
{
    for (size_t i = 0; i < SUITE_COUNT(trial_routes); i++)
        trial_learn_page(&trial.page, trial_routes[i].path);
    link_free_all();
    poll(NULL, 0, 100);
    trial.descriptors = trial_descriptors();
}

void trial_begin(const char *path)
{
    trial_forget_clients();
    postgres_start();
    trial_need_server();
    detour_set(DETOUR_PASS);
    trial_learn_page(&trial.hello, "/hello");
    if (trial.descriptors < 0)
        trial_learn_descriptors();
    trial_learn_page(&trial.page, path);
    link_free_all();
    trial.log_offset = lines_size(trial.server);
    postgres_watch_sessions(TRIAL_SESSIONS);
    trial.begin_ms = deadline_now_ms();
    trial_start_clients(&trial.page);
    trial_start_clients(&trial.hello);
    poll(NULL, 0, TRIAL_BEFORE_MS);
    trial.broken_ms = deadline_now_ms();
}

void trial_broken(int ms)
{
    poll(NULL, 0, ms);
}

static bool trial_has_recovered(void *context)
{
    (void)context;
    trial.right_ms = steady_right_since_ms(trial.page.steady, TRIAL_STREAK);
    return trial.right_ms > 0;
}

void trial_mended(void)
{
    trial.mended_ms = deadline_now_ms();
    poll(NULL, 0, TRIAL_AFTER_MS); /* a run of right answers that was not interrupted yet says nothing about later */
    SUITE_CHECK(deadline_wait(TRIAL_RECOVERY_MS + DEADLINE_USUAL_MS, trial_has_recovered, NULL), "no recovery: %s",
                server_last_line(trial.server, "log"));
}

/* -- Judgement
 * ---------------------------------------------------------------------------------------------------------- */

/* What is always slow here may be: another program has the machine. */
static int trial_slack_ms(void)
{
    int before_ms = steady_sum(trial.hello.steady, trial.begin_ms, trial.broken_ms).slowest_ms;

    return trial_is_long() ? 0 : 100 + 3 * before_ms;
}

static struct trial_counts trial_judge_page(const struct trial_limits *limits, struct steady_sum *broken)
{
    struct steady_sum before = steady_sum(trial.page.steady, trial.begin_ms, trial.broken_ms);
    struct steady_sum all = steady_sum(trial.page.steady, trial.begin_ms, trial.end_ms);
    int timeouts = limits->timeouts ? limits->timeouts : 1;
    int limit_ms = timeouts * TRIAL_QUERY_TIMEOUT_MS + TRIAL_LATER_MS + trial_slack_ms();
    int took_ms = trial.right_ms > trial.mended_ms ? (int)(trial.right_ms - trial.mended_ms) : 0;

    *broken = steady_sum(trial.page.steady, trial.broken_ms, trial.mended_ms);
    SUITE_CHECK(all.wrong == 0, "%s: %ld of %ld answers are wrong: %s", trial.page.path, all.wrong, all.requests,
                all.first_wrong);
    /* Those that were asked just before the failure are among them. */
    SUITE_CHECK(before.right >= before.requests * 8 / 10, "%s: %ld of %ld before the failure", trial.page.path,
                before.right, before.requests);
    SUITE_CHECK(all.slowest_ms <= limit_ms, "%s: an answer after %d ms, %d are allowed", trial.page.path,
                all.slowest_ms, limit_ms);
    SUITE_CHECK(all.away >= limits->away, "%ld answers 503, at least %d are expected", all.away, limits->away);
    SUITE_CHECK(broken->right >= limits->right, "%ld right answers meanwhile, at least %d are expected", broken->right,
                limits->right);
    SUITE_CHECK(took_ms <= TRIAL_RECOVERY_MS + trial_slack_ms(), "right answers %d ms after the server's return",
                took_ms);
    return (struct trial_counts){.right = all.right, .away = all.away};
}

static void trial_judge_hello(struct steady_sum *sum)
{
    int limit_ms = TRIAL_HELLO_MS + trial_slack_ms();

    *sum = steady_sum(trial.hello.steady, trial.begin_ms, trial.end_ms);
    SUITE_CHECK(sum->right == sum->requests, "/hello meanwhile: %ld of %ld right, %s", sum->right, sum->requests,
                sum->first_wrong);
    SUITE_CHECK(sum->slowest_ms <= limit_ms,
                "/hello meanwhile: an answer after %d ms, %d are allowed, asked %lld ms after the failure began",
                sum->slowest_ms, limit_ms, (long long)(sum->slowest_due_ms - trial.broken_ms));
}

static void trial_judge_server(const struct trial_limits *limits)
{
    struct process_children now = server_workers(trial.server);
    int most, over_ms = postgres_watch_end(&most);

    SUITE_CHECK(memcmp(&now, &trial.workers, sizeof now) == 0, "other workers than before: %s",
                server_last_line(trial.server, "log"));
    SUITE_CHECK(limits->sessions || over_ms <= 200, "up to %d sessions instead of %d, for %d ms", most, TRIAL_SESSIONS,
                over_ms);
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, trial_descriptors_are_settled, NULL),
                "%ld descriptors, %ld before, beside %d sessions", trial_descriptors(), trial.descriptors,
                postgres_session_count());
}

struct trial_counts trial_end(const struct trial_limits *limits)
{
    struct steady_sum broken, hello;
    char route[100];
    struct trial_counts counts;
    int lines;

    snprintf(route, sizeof route, "%.*s", (int)strcspn(trial.page.path, "?"), trial.page.path);
    trial.end_ms = deadline_now_ms();
    trial_stop_clients();
    lines = lines_check(trial.server, trial.log_offset, route, (int)(trial.end_ms - trial.broken_ms));
    counts = trial_judge_page(limits, &broken);
    trial_judge_hello(&hello);
    trial_judge_server(limits);
    printf(
        "# %s, broken for %d ms: %ld right, %ld 503, slowest %d ms, p99 %d; right again after %d ms; /hello p99 %d ms, "
        "slowest %d; %d lines\n",
        trial.page.path, (int)(trial.mended_ms - trial.broken_ms), broken.right, broken.away, broken.slowest_ms,
        broken.p99_ms, trial.right_ms > trial.mended_ms ? (int)(trial.right_ms - trial.mended_ms) : 0, hello.p99_ms,
        hello.slowest_ms, lines);
    trial_forget_clients();
    return counts;
}
