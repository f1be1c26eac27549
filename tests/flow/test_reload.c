/*
 * test_reload.c: reloads and binary upgrades, under load through nginx: no request fails, what is new holds afterwards,
 * and where anything is wrong with the new the old serves on. Case C30. With MILLRACE_TEST_LONG: 20 reloads and 5
 * upgrades at 2,000 requests/s.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"
#include "deadline.h"
#include "front.h"
#include "server.h"
#include "suite.h"
#include "traffic.h"

static struct answer answer;

/* -- What the tests do to the server
 * ------------------------------------------------------------------------------------
 */

static void reload(struct server *server, const char *outcome)
{
    const char *line = server_signal_outcome(server, SIGHUP);

    SUITE_CHECK(strncmp(line, outcome, strlen(outcome)) == 0, "expected '%s', the outcome is '%s'", outcome, line);
}

static void upgrade(struct server *server)
{
    const char *line = server_signal_outcome(server, SIGUSR2);

    SUITE_CHECK(strncmp(line, "ok ", 3) == 0, "the outcome is '%s'", line);
    server_follow(server);
}

static int number_of(const char *line)
{
    return atoi(strchr(line, ' ') + 1);
}

static void ask(struct server *server, const char *path, int status)
{
    answer_ask_once(&answer, server->local, &(struct record_request){.path = path, .query = "0"});
    SUITE_CHECK(answer_status(&answer) == status, "status %d for %s", answer_status(&answer), path);
}

/* Writes over a file in place, as cp does: whoever has it mapped sees other bytes. */
static void write_over(const char *path, const char *from)
{
    char bytes[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t got;

    SUITE_CHECK(in >= 0 && out >= 0, "%s, %s: %s", from, path, strerror(errno));
    while ((got = read(in, bytes, sizeof bytes)) > 0)
        CU_ASSERT_FATAL(write(out, bytes, (size_t)got) == got);
    close(in);
    close(out);
}

static struct traffic *start_traffic(struct server *server, bool is_long)
{
    return traffic_start(front_start(server), &(struct traffic_options){.rate = is_long ? 2000 : 800});
}

static void check_nothing_failed(struct traffic *traffic)
{
    const struct traffic_result *result = traffic_stop(traffic);

    SUITE_CHECK(result->failed == 0 && result->right == result->sent && result->sent > 20, "%s",
                traffic_describe(result));
    if (getenv("MILLRACE_TEST_LONG"))
        printf("# %s in %d s\n", traffic_describe(result), (int)((result->end_ms - result->start_ms) / 1000));
}

/* -- Under load
 * ---------------------------------------------------------------------------------------------------------
 */

static void nothing_fails(void)
{
    bool is_long = getenv("MILLRACE_TEST_LONG") != NULL;
    int reloads = is_long ? 20 : 6, upgrades = is_long ? 5 : 2;
    struct server *server = server_start(NULL);
    struct traffic *traffic = start_traffic(server, is_long);
    struct process_children before, after;

    for (int i = 0; i < reloads + upgrades; i++) {
        before = server_workers_without(server, 0);
        usleep(is_long ? 500000 : 200000); /* load in between */
        if (i % (reloads / upgrades + 1) == reloads / upgrades)
            upgrade(server);
        else
            reload(server, "ok ");
        after = server_workers_without(server, before.pids[0]);
        for (size_t k = 0; k < before.count; k++) {
            SUITE_CHECK(process_leaves(before.pids[k], DEADLINE_USUAL_MS), "worker %d stays", (int)before.pids[k]);
            for (size_t m = 0; m < after.count; m++)
                CU_ASSERT(after.pids[m] != before.pids[k]);
        }
    }
    check_nothing_failed(traffic);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void requests_that_run_are_finished(void)
{
    struct server *server = server_start(NULL);
    struct front *front = front_start(server);
    struct link *links[4];
    struct front_answer got = {0};
    pid_t workers[2];

    for (int i = 0; i < 2; i++)
        workers[i] = server_workers_without(server, 0).pids[i];
    for (int i = 0; i < 4; i++) {
        links[i] = link_new(front->address);
        front_send(links[i], i % 2 ? "/pid?1500" : "/pid?700", NULL, i < 2 ? "x" : NULL, i < 2);
    }
    link_is_silent(links[0], 100);
    reload(server, "ok ");
    reload(server, "ok "); /* while the first still drains */
    for (int i = 0; i < 4; i++) {
        front_read(&got, links[i]);
        CU_ASSERT_EQUAL(got.status, 200);
        SUITE_CHECK(atoi(bytes_text(&got.body)) == workers[0] || atoi(bytes_text(&got.body)) == workers[1],
                    "answered by process %s", bytes_text(&got.body));
    }
    link_is_silent(links[0], 100); /* the connection that rests moves in a moment */
    front_ask(&got, links[0], "/pid?1", NULL, 0);
    CU_ASSERT(atoi(bytes_text(&got.body)) != workers[0] && atoi(bytes_text(&got.body)) != workers[1]);
    front_fini(&got);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* -- What is new
 * --------------------------------------------------------------------------------------------------------
 */

static bool has_three_workers(void *server)
{
    return server_workers(server).count == 3;
}

static void a_new_configuration_holds(void)
{
    struct server *server = server_start(NULL);
    int before;

    ask(server, "/added", 404);
    before = number_of(server_signal_outcome(server, SIGHUP));
    server_reconfigure(server, "workers = 3\nmax_body = 10");
    SUITE_CHECK(number_of(server_signal_outcome(server, SIGHUP)) == before + 1, "the generation's number");
    CU_ASSERT(deadline_wait(DEADLINE_USUAL_MS, has_three_workers, server));
    answer_ask_once(&answer, server->local,
                    &(struct record_request){.path = "/echo", .body = "more than ten bytes", .body_length = 19});
    CU_ASSERT_EQUAL(answer_status(&answer), 413);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* An application that is written over is taken up by the next reload and not before, not even by a worker that is
 * started again in between. */
static void a_new_application_holds(void)
{
    char options[900], path[SERVER_PATH_MAX + 20];
    struct server *server;
    size_t length;

    snprintf(path, sizeof path, "%s", server_scratch("changing.so"));
    write_over(path, server_app("talker"));
    snprintf(options, sizeof options, "app \"/changing\" { file = \"%s\" }", path);
    server = server_start(options);
    ask(server, "/changing", 200);
    CU_ASSERT(answer_body_is(&answer, "nothing but the body"));
    write_over(path, server_app("hello"));
    for (int i = 0; i < SERVER_WORKERS; i++) {
        struct process_children workers = server_workers_without(server, 0);

        ask(server, "/changing", 200);
        CU_ASSERT(answer_body_is(&answer, "nothing but the body"));
        kill(workers.pids[i], SIGKILL);
        CU_ASSERT(server_lost_one(&workers, DEADLINE_USUAL_MS));
    }
    server_workers_without(server, 0);
    for (int i = 0; i < 8; i++) {
        ask(server, "/changing", 200);
        CU_ASSERT(answer_body_is(&answer, "nothing but the body"));
    }
    reload(server, "ok ");
    ask(server, "/changing", 200);
    answer_body(&answer, &length);
    CU_ASSERT_EQUAL(length, 450);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    unlink(path);
}

/* -- What is wrong
 * ------------------------------------------------------------------------------------------------------
 */

static void check_serves_on(struct server *server, const char *options, const char *reason)
{
    struct process_children before = server_workers_without(server, 0), after;
    const char *line;

    server_reconfigure(server, options);
    line = server_signal_outcome(server, SIGHUP);
    SUITE_CHECK(strncmp(line, "failed ", 7) == 0 && strstr(line, reason), "expected '%s', the outcome is '%s'", reason,
                line);
    after = server_workers_without(server, 0);
    for (size_t i = 0; i < before.count; i++)
        CU_ASSERT_EQUAL(before.pids[i], after.pids[i]);
}

static void check_bad_application(struct server *server, const char *file, const char *reason)
{
    char options[900];

    snprintf(options, sizeof options, "app \"/bad\" { file = \"%s\" }", file);
    check_serves_on(server, options, reason);
}

static void the_old_serves_on(void)
{
    struct server *server = server_start(NULL);
    struct traffic *traffic = start_traffic(server, false);
    char broken[SERVER_PATH_MAX + 20];

    check_serves_on(server, "nonsense = 1", "millrace.conf:");
    check_serves_on(server, "threads = many", "many");
    check_serves_on(server, "app \"/hello\" { file = \"/nowhere\" }", "duplicate");
    check_bad_application(server, "/nowhere/at.all.so", "/nowhere/at.all.so");
    check_bad_application(server, server_app("badabi"), "ABI");
    check_bad_application(server, server_app("nosymbol"), "mr_app");
    check_bad_application(server, server_app("badstart"), "a worker could not start");
    snprintf(broken, sizeof broken, "%s", server_scratch("broken.so"));
    write_over(broken, server_app("hello"));
    CU_ASSERT(truncate(broken, 5000) == 0);
    check_bad_application(server, broken, "broken.so");
    CU_ASSERT(truncate(broken, 0) == 0);
    check_bad_application(server, broken, "broken.so");
    unlink(broken);
    CU_ASSERT(mkfifo(broken, 0644) == 0);
    check_bad_application(server, broken, "no regular file");
    unlink(broken);
    server_reconfigure(server, NULL);
    reload(server, "ok ");
    check_nothing_failed(traffic);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* A program that cannot take over leaves the one that runs in its place. */
static void a_bad_upgrade_fails(void)
{
    struct server *server = server_start(NULL);
    struct traffic *traffic = start_traffic(server, false);
    pid_t master = server->pid;
    const char *line;

    server_reconfigure(server, "nonsense = 1");
    line = server_signal_outcome(server, SIGUSR2);
    SUITE_CHECK(strncmp(line, "failed ", 7) == 0 && strstr(line, "nonsense"), "the outcome is '%s'", line);
    server_follow(server);
    CU_ASSERT_EQUAL(server->pid, master);
    server_reconfigure(server, NULL);
    upgrade(server);
    CU_ASSERT(server->pid != master);
    check_nothing_failed(traffic);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* -- Again and again
 * ----------------------------------------------------------------------------------------------------
 */

static void many_at_once(void)
{
    struct server *server = server_start(NULL);

    for (int i = 0; i < 10; i++) {
        kill(server->pid, SIGHUP);
        usleep(5000);
    }
    CU_ASSERT(server_log_waits_for(server, "serves", DEADLINE_USUAL_MS));
    usleep(300000);
    server_workers_without(server, 0);
    ask(server, "/hello", 200);
    reload(server, "ok ");
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void stopped_in_the_middle(void)
{
    static const int signals[] = {SIGTERM, SIGINT};

    for (int i = 0; i < 10; i++) {
        struct server *server = server_start(NULL);

        kill(server->pid, i % 4 < 2 ? SIGHUP : SIGUSR2);
        usleep((useconds_t)i * 3000);
        CU_ASSERT_EQUAL(server_stop(server, signals[i % 2]), 0);
    }
}

/* Neither descriptors nor memory of the kernel's pile up in the master. */
static void nothing_is_left(void)
{
    struct server *server = server_start(NULL);
    long before, after;

    reload(server, "ok ");
    server_workers_without(server, 0);
    before = process_descriptor_count(server->pid);
    for (int i = 0; i < 10; i++) {
        struct process_children workers = server_workers_without(server, 0);

        reload(server, "ok ");
        for (size_t k = 0; k < workers.count; k++)
            CU_ASSERT(process_leaves(workers.pids[k], DEADLINE_USUAL_MS));
    }
    ask(server, "/hello", 200);
    usleep(100000);
    after = process_descriptor_count(server->pid);
    SUITE_CHECK(after == before, "%ld descriptors before, %ld after ten reloads", before, after);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"reloads and upgrades lose nothing", nothing_fails},
    {"requests that run are finished by the old workers", requests_that_run_are_finished},
    {"a new configuration holds", a_new_configuration_holds},
    {"a new application holds, from the reload on", a_new_application_holds},
    {"whatever is wrong, the old generation serves on", the_old_serves_on},
    {"an upgrade that fails changes nothing", a_bad_upgrade_fails},
    {"many reloads at once", many_at_once},
    {"stopped in the middle", stopped_in_the_middle},
    {"nothing is left behind", nothing_is_left},
};

int main(int argc, char **argv)
{
    return suite_main("reload", cases, SUITE_COUNT(cases), argc, argv);
}
