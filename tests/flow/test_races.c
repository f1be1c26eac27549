/*
 * test_races.c: the points at which threads hand lanes, connections and themselves to each other, each with threads
 * held back there so that the other side comes first (runtime/base/race.h). Whatever the order: every answer is right,
 * no thread is lost, and the server leaves as it should. `make tsan` runs the same. Case C28.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "base/race.h"
#include "blocked.h"
#include "deadline.h"
#include "server.h"
#include "suite.h"

enum {
    RACES_LINKS = 36,
    RACES_KINDS = 12,
    BODY_WORDS = 750,
    RACES_MS = 600, /* of load for each point */
};

static struct answer answer;

/* What is asked on kept connections: handlers that take nothing, and such that take about as long as the watchdog waits;
 * requests that are suspended and woken in every way. Text or length of the body. */
static const struct kind {
    const char *path, *query, *text;
    size_t length;
} kinds[RACES_KINDS] = {
    {"/hello", NULL, NULL, 450},
    {"/sleeper", "0", "slept 0\n", 0},
    {"/sleeper", "3", "slept 3\n", 0},
    {"/sleeper", "12", "slept 12\n", 0},
    {"/bigout", "400000", NULL, 400000}, /* more than a socket takes: the handler waits until it is read */
    {"/echo", NULL, NULL, BODY_WORDS * sizeof(int)},
    {"/waiter/now", "", "resumed\n", 0},
    {"/waiter/thread", "2", "resumed\n", 0},
    {"/waiter/chain", "1", "resumed\n", 0},
    {"/waiter/watch", "3", "resumed\n", 0},
    {"/waiter/slow-callback", "1", "resumed\n", 0},
    {"/waiter/now-sleep", "2", "resumed\n", 0},
};

static bool is_echo(int kind)
{
    return strcmp(kinds[kind].path, "/echo") == 0;
}

static void send_request(struct link *link, int kind, int token)
{
    static int body[BODY_WORDS];
    struct record_request request = {.flags = RECORD_KEEP, .path = kinds[kind].path, .query = kinds[kind].query};
    struct bytes bytes = {0};

    if (is_echo(kind)) {
        for (int i = 0; i < BODY_WORDS; i++)
            body[i] = token;
        request.body = body;
        request.body_length = sizeof body;
    }
    record_whole(&bytes, &request);
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
}

static void check_answer(struct link *link, int kind, int token)
{
    const unsigned char *body;
    size_t length;

    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    SUITE_CHECK(answer_status(&answer) == 200, "%s: status %d", kinds[kind].path, answer_status(&answer));
    body = answer_body(&answer, &length);
    if (kinds[kind].text)
        SUITE_CHECK(answer_body_is(&answer, kinds[kind].text), "kind %d: another request's answer", kind);
    else
        SUITE_CHECK(length == kinds[kind].length, "kind %d: %zu bytes", kind, length);
    for (size_t i = 0; is_echo(kind) && i < length; i += sizeof token)
        SUITE_CHECK(memcmp(body + i, &token, sizeof token) == 0, "another request's body");
}

/* A peer that sends a request and leaves while its handler runs, or aborts it. */
static void leave_early(const char *address, bool abort)
{
    struct link *link = link_new(address);
    struct bytes bytes = {0};

    send_request(link, abort ? 3 : 10, 0);
    if (abort) {
        record_add(&bytes, RECORD_ABORT, 1, NULL, 0);
        link_send(link, bytes.data, bytes.length);
        answer_read_end(&answer, link, 1, DEADLINE_USUAL_MS);
    }
    bytes_fini(&bytes);
    link_free(link);
}

/* All kinds at once; now and then nothing but sleepers, more than there are threads. */
static int kind_of(int link, int round)
{
    return round % 4 == 1 ? 3 : (link + round) % RACES_KINDS;
}

static void load(const struct server *server)
{
    int64_t end_ms = deadline_now_ms() + RACES_MS * (SERVER_SANITIZED ? 2 : 1);
    struct link *links[RACES_LINKS];

    for (int i = 0; i < RACES_LINKS; i++)
        links[i] = link_new(i % 2 ? server->local : server->tcp);
    for (int round = 0; deadline_now_ms() < end_ms; round++) {
        for (int i = 0; i < RACES_LINKS; i++)
            send_request(links[i], kind_of(i, round), round * RACES_LINKS + i);
        leave_early(server->local, round % 2);
        for (int i = 0; i < RACES_LINKS; i++)
            check_answer(links[i], kind_of(i, round), round * RACES_LINKS + i);
        if (round % 16 == 5 && deadline_left_ms(end_ms) > RACES_MS / 2) /* connections at rest go to other workers */
            kill(server->pid, SIGHUP);
        if (round % 4 == 3) /* a pause lets lanes and watchdog fall asleep */
            link_is_silent(links[0], 15);
        link_free(links[round % RACES_LINKS]);
        links[round % RACES_LINKS] = link_new(server->local);
    }
}

/* The points' own names, as cases. CUnit's cases have no argument: the name of the running one says which point it is.
 */
static void race_at_point(void)
{
    const char *point = CU_get_current_test()->pName;
    struct server *server;
    char line[80];
    int passed;

    setenv("MILLRACE_RACE", point, 1);
    server_use("millrace-races");
    server = server_start(NULL);
    load(server);
    server_workers_without(server, 0); /* the last reload is over */
    blocked_check(server);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    snprintf(line, sizeof line, "race: %s: passed", point);
    passed = server_log_count(server, line);
    CU_ASSERT(passed >= SERVER_WORKERS);
    SUITE_CHECK(server_log_count(server, "held 0 times") < passed,
                "nothing was held at this point: the case has shown nothing");
    CU_ASSERT_EQUAL(server_log_count(server, "was ended by"), 0);
}

int main(int argc, char **argv)
{
#define CASE(name) {#name, race_at_point},
    static const struct suite_case cases[] = {RACE_POINTS(CASE)};

    return suite_main("races", cases, SUITE_COUNT(cases), argc, argv);
}
