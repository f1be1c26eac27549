/*
 * test_figures.c: an application's own gauges and counters in the status: exact, over kills, recycling, reloads and
 * upgrades.
 */
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "deadline.h"
#include "front.h"
#include "http.h"
#include "suite.h"

enum { LINKS = 16, REQUESTS = 100 };

static struct server *server;
static char address[32], status_address[32];
static struct front_answer form;

/* Two routes of one application; the second one has a counter more, of this name. */
static const char *options_with(const char *counter, const char *more)
{
    static char text[2000];
    char file[640];

    snprintf(file, sizeof file, "%s", server_app("figures"));
    snprintf(text, sizeof text,
             "http = \"%s\"\nstatus = \"%s\"\n%s\napp \"/one\" { file = \"%s\" }\n"
             "app \"/two\" { file = \"%s\"\noptions { counter = \"%s\" } }\n",
             address, status_address, more, file, file, counter);
    return text;
}

static void start(const char *more)
{
    snprintf(address, sizeof address, "127.0.0.1:%d", server_free_port());
    do
        snprintf(status_address, sizeof status_address, "127.0.0.1:%d", server_free_port());
    while (strcmp(status_address, address) == 0);
    server = server_start(options_with("first", more));
}

/* -- Asking -----------------------------------------------------------------------------------------------------------
 */

static const char *ask_form(const char *path)
{
    struct link *link = link_new(status_address);

    front_ask(&form, link, path, NULL, 0);
    link_free(link);
    CU_ASSERT_EQUAL_FATAL(form.status, 200);
    return bytes_text(&form.body);
}

/* The figure as JSON has it; LONG_MIN when there is none. */
static long figure_of(const char *path, const char *name)
{
    json_t *status = json_loads(ask_form("/status.json"), 0, NULL), *route, *figure;
    long value = LONG_MIN;
    size_t i;

    json_array_foreach(json_object_get(status, "routes"), i, route)
    {
        figure = json_object_get(json_object_get(route, "figures"), name);
        if (figure && strcmp(json_string_value(json_object_get(route, "route")), path) == 0)
            value = (long)json_integer_value(figure);
    }
    json_decref(status);
    return value;
}

struct expectation {
    const char *path, *name;
    long value;
};

static bool holds(void *context)
{
    const struct expectation *expected = context;

    return figure_of(expected->path, expected->name) == expected->value;
}

static void check_becomes(const char *path, const char *name, long value)
{
    struct expectation expected = {path, name, value};

    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, holds, &expected), "%s of %s is %ld, not %ld", name, path,
                figure_of(path, name), value);
}

/* Workers that serve, without one of them; `*one` is one of those. */
static int count_serving(pid_t not_this, pid_t *one)
{
    json_t *status = json_loads(ask_form("/status.json"), 0, NULL), *worker;
    int count = 0;
    size_t i;

    json_array_foreach(json_object_get(status, "workers"), i, worker)
    {
        pid_t pid = (pid_t)json_integer_value(json_object_get(worker, "pid"));

        if (pid == not_this || strcmp(json_string_value(json_object_get(worker, "state")), "serving") != 0)
            continue;
        *one = pid;
        count++;
    }
    json_decref(status);
    return count;
}

static bool serve(void *killed)
{
    pid_t one;

    return count_serving(*(pid_t *)killed, &one) == SERVER_WORKERS;
}

/* Kills a worker, and waits for another in its place when `waits`. */
static void kill_a_worker(bool waits)
{
    pid_t one = 0;

    CU_ASSERT_FATAL(count_serving(0, &one) > 0);
    kill(one, SIGKILL);
    SUITE_CHECK(!waits || deadline_wait(DEADLINE_USUAL_MS, serve, &one), "%d workers serve", count_serving(one, &one));
}

static void ask(const char *target, int count)
{
    static struct http_answer answer;
    char text[100];

    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
    for (int i = 0; i < count; i++) {
        http_ask(&answer, address, text);
        CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    }
}

/* -- Cases ------------------------------------------------------------------------------------------------------------
 */

/* Workers end in every way there is; what was answered before has been counted, at every moment. */
static void counters_are_exact_over_all_ends(void)
{
    long expected = 0;

    start("max_requests = 50");
    for (int i = 0; i < 12; i++) {
        ask("/one?3", 40);
        expected += 3 * 40;
        CU_ASSERT_EQUAL(figure_of("/one", "answers"), expected);
        if (i % 4 < 2)
            kill_a_worker(false);
        else
            CU_ASSERT(strncmp(server_signal_outcome(server, i % 4 == 2 ? SIGHUP : SIGUSR2), "ok ", 3) == 0);
        server_follow(server);
        for (int j = 0; j < 5; j++)
            SUITE_CHECK(figure_of("/one", "answers") == expected, "%ld answers, not %ld, after %s",
                        figure_of("/one", "answers"), expected,
                        (const char *const[]){"a kill", "a kill", "a reload", "an upgrade"}[i % 4]);
    }
    CU_ASSERT_EQUAL(figure_of("/two", "answers"), 0);
    SUITE_CHECK(server_log_count(server, "max_requests") > 0, "no worker was recycled");
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void counters_are_exact_with_many_threads(void)
{
    static const char request[] = "GET /one?5000 HTTP/1.1\r\nHost: x\r\n\r\n";
    static struct http_answer answer;
    struct http links[LINKS] = {{.link = NULL}};

    start("");
    for (int i = 0; i < LINKS; i++) {
        http_open(&links[i], address);
        for (int j = 0; j < REQUESTS; j++)
            http_send(&links[i], request);
    }
    for (int i = 0; i < LINKS; i++) {
        for (int j = 0; j < REQUESTS; j++) {
            http_read(&answer, &links[i]);
            CU_ASSERT_EQUAL_FATAL(answer.status, 200);
        }
        http_close(&links[i]);
    }
    CU_ASSERT_EQUAL(figure_of("/one", "answers"), 5000L * LINKS * REQUESTS);
    check_becomes("/one", "running", 0);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void gauges_end_with_their_workers(void)
{
    start("");
    CU_ASSERT_EQUAL(figure_of("/one", "workers"), SERVER_WORKERS);
    for (int i = 0; i < 3; i++) {
        kill_a_worker(true);
        check_becomes("/one", "workers", SERVER_WORKERS);
        CU_ASSERT(strncmp(server_signal_outcome(server, SIGHUP), "ok ", 3) == 0);
        check_becomes("/two", "workers", SERVER_WORKERS);
    }
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* A counter that the application has given up keeps what it counted. */
static void counters_outlive_their_names(void)
{
    start("");
    ask("/two", 5);
    CU_ASSERT_EQUAL(figure_of("/two", "first"), 5);
    server_reconfigure(server, options_with("second", ""));
    CU_ASSERT(strncmp(server_signal_outcome(server, SIGHUP), "ok ", 3) == 0);
    ask("/two", 2);
    CU_ASSERT_EQUAL(figure_of("/two", "second"), 2);
    CU_ASSERT_EQUAL(figure_of("/two", "first"), 5);
    CU_ASSERT_EQUAL(figure_of("/one", "first"), LONG_MIN);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static int count_of(const char *text, const char *part)
{
    int found = 0;

    for (; (text = strstr(text, part)); text++)
        found++;
    return found;
}

static void every_form_has_them(void)
{
    const char *text;

    start("");
    ask("/one?12345", 1);
    ask("/two?1", 1);
    text = ask_form("/metrics");
    CU_ASSERT_EQUAL(count_of(text, "# TYPE millrace_app_answers counter\n"), 1);
    CU_ASSERT_EQUAL(count_of(text, "# HELP millrace_app_answers Answers that were made\n"), 1);
    CU_ASSERT_EQUAL(count_of(text, "\nmillrace_app_answers_total{route=\"/one\"} 12345\n"
                                   "millrace_app_answers_total{route=\"/two\"} 1\n"),
                    1);
    CU_ASSERT_EQUAL(count_of(text, "# HELP millrace_app_running Handlers that run <now> & \\\"here\\\"\n"), 1);
    CU_ASSERT_EQUAL(count_of(text, "\nmillrace_app_first_total{route=\"/two\"} 1\n"), 1);
    text = ask_form("/");
    CU_ASSERT_EQUAL(count_of(text, "<h2>Figures of /one</h2>") + count_of(text, "<h2>Figures of /two</h2>"), 2);
    CU_ASSERT_EQUAL(count_of(text, "Handlers that run &lt;now&gt; &amp; &quot;here&quot;</td>"), 2);
    text = ask_form("/status.txt");
    CU_ASSERT_EQUAL(count_of(text, " 12345  Answers that were made\n"), 1);
    CU_ASSERT(server_log_count(server, "/one: no figure Bad name: names are of") > 0);
    CU_ASSERT(server_log_count(server, "/two: no figure answers: there is one of this name and the other kind") > 0);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"counters are exact over all ends", counters_are_exact_over_all_ends},
    {"counters are exact with many threads", counters_are_exact_with_many_threads},
    {"gauges end with their workers", gauges_end_with_their_workers},
    {"counters outlive their names", counters_outlive_their_names},
    {"every form has them", every_form_has_them},
};

int main(int argc, char **argv)
{
    return suite_main("figures", cases, SUITE_COUNT(cases), argc, argv);
}
