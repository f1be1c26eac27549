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

/* Of "ok N". */
static int number_of(const char *line)
{
    return atoi(strchr(line, ' ') + 1);
}

/* Generations are counted, and the log names each. Returns the new number. */
static int reload_after(struct server *server, int number)
{
    char line[64];
    int next = number_of(server_signal_outcome(server, SIGHUP));

    SUITE_CHECK(next == number + 1, "generation %d came after %d", next, number);
    snprintf(line, sizeof line, "reload: generation %d serves", next);
    CU_ASSERT_EQUAL(server_log_count(server, line), 1);
    return next;
}

/* Returns the number of the generation there. */
static int upgrade(struct server *server)
{
    const char *line = server_signal_outcome(server, SIGUSR2);
    int number;

    SUITE_CHECK(strncmp(line, "ok ", 3) == 0, "the outcome is '%s'", line);
    number = number_of(line);
    server_follow(server);
    return number;
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
    int number = 1;

    for (int i = 0; i < reloads + upgrades; i++) {
        before = server_workers_without(server, 0);
        usleep(is_long ? 500000 : 200000); /* load in between */
        if (i % (reloads / upgrades + 1) == reloads / upgrades)
            number = upgrade(server);
        else
            number = reload_after(server, number);
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
    char options[900];

    snprintf(options, sizeof options, "workers = 3\nmax_body = 10\napp \"/added\" { file = \"%s\" }",
             server_app("talker"));
    server_reconfigure(server, options);
    ask(server, "/added", 404);
    reload(server, "ok ");
    CU_ASSERT(deadline_wait(DEADLINE_USUAL_MS, has_three_workers, server));
    ask(server, "/added", 200);
    answer_ask_once(&answer, server->local,
                    &(struct record_request){.path = "/echo", .body = "more than ten bytes", .body_length = 19});
    CU_ASSERT_EQUAL(answer_status(&answer), 413);
    server_reconfigure(server, NULL);
    reload(server, "ok ");
    server_workers_without(server, 0);
    ask(server, "/added", 404);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* A worker, which a kept connection shows, says this much under the path. Returns its process's number. */
static pid_t check_length(struct link *link, const char *path, size_t expected)
{
    size_t length;

    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = path});
    answer_body(&answer, &length);
    SUITE_CHECK(answer_status(&answer) == 200 && length == expected, "%s: status %d, %zu bytes", path,
                answer_status(&answer), length);
    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/pid", .query = "0"});
    return atoi((const char *)answer_body(&answer, &length));
}

/* Every worker says it. */
static void check_lengths(struct server *server, const char *path, size_t expected)
{
    struct process_children workers = server_workers_without(server, 0);
    struct link *links[64];
    int64_t end_ms = deadline_now_ms() + DEADLINE_USUAL_MS;
    size_t count = 0, seen = 0;

    while (seen < workers.count && deadline_left_ms(end_ms) > 0) {
        pid_t pid;

        if (count == SUITE_COUNT(links)) { /* one of them is not ready yet */
            while (count > 0)
                link_free(links[--count]);
            usleep(20000);
        }
        links[count] = link_new(server->local);
        pid = check_length(links[count++], path, expected);
        for (size_t i = 0; i < workers.count; i++) {
            if (workers.pids[i] == pid) {
                workers.pids[i] = 0;
                seen++;
            }
        }
    }
    while (count > 0)
        link_free(links[--count]);
    SUITE_CHECK(seen == workers.count, "%zu of %zu workers have answered", seen, workers.count);
}

/* An application that is written over is taken up by the next reload and not before, not even by a worker that is
 * started again in between. */
static void a_new_application_holds(void)
{
    enum { TALKER_BYTES = 20, HELLO_BYTES = 450 };
    char options[900], path[SERVER_PATH_MAX + 20];
    struct process_children before;
    struct server *server;

    snprintf(path, sizeof path, "%s", server_scratch("changing.so"));
    write_over(path, server_app("talker"));
    snprintf(options, sizeof options, "app \"/changing\" { file = \"%s\" }", path);
    server = server_start(options);
    check_lengths(server, "/changing", TALKER_BYTES);
    write_over(path, server_app("hello"));
    check_lengths(server, "/changing", TALKER_BYTES);
    before = server_workers_without(server, 0);
    for (size_t i = 0; i < before.count; i++) {
        kill(before.pids[i], SIGKILL);
        CU_ASSERT(process_leaves(before.pids[i], DEADLINE_USUAL_MS));
        server_workers_without(server, before.pids[i]);
        check_lengths(server, "/changing", TALKER_BYTES);
    }
    CU_ASSERT_EQUAL(server_log_count(server, "was ended by signal"), SERVER_WORKERS); /* those two, and no fault */
    reload(server, "ok ");
    server_workers_without(server, 0);
    check_lengths(server, "/changing", HELLO_BYTES);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    unlink(path);
}

/* -- What is wrong
 * ------------------------------------------------------------------------------------------------------
 */

static void check_refused(struct server *server, const char *reason)
{
    struct process_children before = server_workers_without(server, 0), after;
    const char *line = server_signal_outcome(server, SIGHUP);

    SUITE_CHECK(strncmp(line, "failed ", 7) == 0 && strstr(line, reason), "expected '%s', the outcome is '%s'", reason,
                line);
    after = server_workers_without(server, 0);
    for (size_t i = 0; i < before.count; i++)
        CU_ASSERT_EQUAL(before.pids[i], after.pids[i]);
}

static void check_serves_on(struct server *server, const char *options, const char *reason)
{
    server_reconfigure(server, options);
    check_refused(server, reason);
}

static void check_no_configuration(struct server *server)
{
    char path[SERVER_PATH_MAX + 20];

    snprintf(path, sizeof path, "%s/millrace.conf", server->directory);
    CU_ASSERT_FATAL(unlink(path) == 0);
    check_refused(server, "millrace.conf");
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
    check_no_configuration(server);
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
    usleep(100000); /* load on the new one as well */
    check_nothing_failed(traffic);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
}

/* A new program whose workers cannot start gives the sockets back as it got them. */
static void a_failed_upgrade_leaves_the_sockets(void)
{
    char options[900], file[SERVER_PATH_MAX + 40], socket[SERVER_PATH_MAX + 20];
    struct server *server;
    const char *line;

    snprintf(file, sizeof file, "%s", server_scratch("gate"));
    make_file(file);
    snprintf(options, sizeof options, "app \"/gate\" { file = \"%s\" options { file = \"%s\" } }", server_app("gate"), file);
    server = server_start(options);
    unlink(file);
    for (int i = 0; i < 3; i++) {
        line = server_signal_outcome(server, SIGUSR2);
        SUITE_CHECK(strncmp(line, "failed ", 7) == 0, "the outcome is '%s'", line);
        snprintf(socket, sizeof socket, "%s/sock", server->directory);
        CU_ASSERT(access(socket, F_OK) == 0);
        ask(server, "/hello", 200);
    }
    make_file(file);
    upgrade(server);
    ask(server, "/gate", 200);
    unlink(file);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    CU_ASSERT(access(socket, F_OK) != 0);
}

/* An application that hangs while it is opened holds up neither the server nor the next reload, and no process stays. */
static void a_stuck_application_is_given_up(void)
{
    char options[900], file[SERVER_PATH_MAX + 40];
    struct server *server;
    const char *line;
    struct process_children before;

    snprintf(file, sizeof file, "%s", server_scratch("stuck"));
    unlink(file);
    setenv("MILLRACE_TEST_STUCK", file, 1);
    snprintf(options, sizeof options, "start_timeout = 1\napp \"/stuck\" { file = \"%s\" }", server_app("stuck"));
    server = server_start(options);
    unsetenv("MILLRACE_TEST_STUCK");
    before = server_workers_without(server, 0);
    make_file(file);
    line = server_signal_outcome(server, SIGHUP);
    SUITE_CHECK(strncmp(line, "failed ", 7) == 0 && strstr(line, "stuck.so was not opened within start_timeout"),
                "the outcome is '%s'", line);
    line = server_signal_outcome(server, SIGUSR2);
    SUITE_CHECK(strncmp(line, "failed ", 7) == 0, "the outcome is '%s'", line);
    kill(before.pids[0], SIGKILL); /* the master is not held up */
    CU_ASSERT(server_lost_one(&before, DEADLINE_USUAL_MS));
    server_workers_without(server, before.pids[0]);
    ask(server, "/stuck", 200);
    unlink(file);
    reload(server, "ok ");
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* -- Again and again
 * ----------------------------------------------------------------------------------------------------
 */

struct steadiness {
    const struct server *server;
    struct process_children last;
    int64_t since_ms;
};

/* As many workers as there should be, and the same ones for a while. */
static bool is_steady(void *context)
{
    struct steadiness *steadiness = context;
    struct process_children now = server_workers(steadiness->server);

    if (memcmp(&now, &steadiness->last, sizeof now) != 0) {
        steadiness->last = now;
        steadiness->since_ms = deadline_now_ms();
    }
    return now.count == SERVER_WORKERS && deadline_now_ms() - steadiness->since_ms >= 300;
}

static void many_at_once(void)
{
    struct server *server = server_start(NULL);
    struct steadiness steadiness = {.server = server};
    int count;

    for (int i = 0; i < 10; i++) {
        kill(server->pid, SIGHUP);
        usleep(5000);
    }
    CU_ASSERT(server_log_waits_for(server, "serves", DEADLINE_USUAL_MS));
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, is_steady, &steadiness), "%zu workers", steadiness.last.count);
    count = server_log_count(server, "serves");
    SUITE_CHECK(count >= 2 && count <= 10, "%d generations came of ten signals", count); /* the last is not forgotten */
    ask(server, "/hello", 200);
    reload_after(server, count + 1);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* Everything that a server has left becomes a child of this program, as an nginx of an earlier case is. */
static bool has_left_nothing(void *before)
{
    return process_children(getpid()).count <= *(size_t *)before;
}

/* The old master was told to stop when the new one had just taken over, so that concerned the old one alone. */
static void stop_successor(const struct server *server)
{
    int pid = atoi(server_last_line(server, "pid"));

    if (pid > 0)
        kill(pid, SIGTERM);
}

static void stopped_in_the_middle(void)
{
    static const int signals[] = {SIGTERM, SIGINT};
    size_t before = process_children(getpid()).count;

    for (int i = 0; i < 10; i++) {
        struct server *server = server_start(NULL);

        kill(server->pid, i % 4 < 2 ? SIGHUP : SIGUSR2);
        usleep((useconds_t)i * 3000);
        CU_ASSERT_EQUAL(server_stop(server, signals[i % 2]), 0);
        stop_successor(server);
        SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, has_left_nothing, &before),
                    "%zu processes before, %zu after %d ms", before, process_children(getpid()).count, i * 3);
    }
}

/* What the kernel keeps for a master. */
struct holdings {
    long pid, descriptors, shared, zombies;
};

static struct holdings holdings_of(pid_t pid)
{
    return (struct holdings){.pid = pid,
                             .descriptors = process_descriptor_count(pid),
                             .shared = process_shared_count(pid),
                             .zombies = (long)process_zombie_count(pid)};
}

/* The end of the last worker comes before the master's word on it. */
static bool holds_as_before(void *context)
{
    const struct holdings *before = context;
    struct holdings now = holdings_of((pid_t)before->pid);

    return memcmp(&now, before, sizeof now) == 0;
}

/* Neither descriptors nor shared memory nor ended processes pile up in the master. */
static void nothing_is_left(void)
{
    struct server *server = server_start(NULL);
    struct holdings before, after;

    reload(server, "ok ");
    server_workers_without(server, 0);
    CU_ASSERT(server_log_waits_for(server, "generation 1 has left", DEADLINE_USUAL_MS));
    before = holdings_of(server->pid);
    CU_ASSERT(before.descriptors > 0 && before.shared > 0);
    CU_ASSERT_EQUAL(before.zombies, 0);
    for (int i = 0; i < 10; i++) {
        struct process_children workers = server_workers_without(server, 0);

        reload(server, "ok ");
        for (size_t k = 0; k < workers.count; k++)
            CU_ASSERT(process_leaves(workers.pids[k], DEADLINE_USUAL_MS));
    }
    ask(server, "/hello", 200);
    deadline_wait(DEADLINE_USUAL_MS, holds_as_before, &before);
    after = holdings_of(server->pid);
    SUITE_CHECK(memcmp(&after, &before, sizeof after) == 0,
                "%ld descriptors, %ld shared mappings before; %ld, %ld and %ld zombies after ten reloads",
                before.descriptors, before.shared, after.descriptors, after.shared, after.zombies);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"reloads and upgrades lose nothing", nothing_fails},
    {"requests that run are finished by the old workers", requests_that_run_are_finished},
    {"a new configuration holds", a_new_configuration_holds},
    {"a new application holds, from the reload on", a_new_application_holds},
    {"whatever is wrong, the old generation serves on", the_old_serves_on},
    {"an upgrade that fails changes nothing", a_bad_upgrade_fails},
    {"a failed upgrade leaves the sockets", a_failed_upgrade_leaves_the_sockets},
    {"a stuck application is given up", a_stuck_application_is_given_up},
    {"many reloads at once", many_at_once},
    {"stopped in the middle", stopped_in_the_middle},
    {"nothing is left behind", nothing_is_left},
};

int main(int argc, char **argv)
{
    return suite_main("reload", cases, SUITE_COUNT(cases), argc, argv);
}
