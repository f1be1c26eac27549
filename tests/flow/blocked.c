/* blocked.c: as many handlers that sleep as each worker may have, and short requests beside them. */
#include "blocked.h"

#include <stdio.h>
#include <stdlib.h>

#include "answer.h"
#include "deadline.h"
#include "link.h"
#include "suite.h"

enum {
    BLOCKED_EACH = SERVER_THREADS - SERVER_LANES,
    BLOCKED_HELLOS = 5,
    BLOCKED_SLEEP_MS = SERVER_SANITIZED ? 1200 : 400,
    BLOCKED_LINKS_MAX = 40 * SERVER_WORKERS,
};

/* Connections that one worker has: for its sleepers, and one more for /hello. */
struct blocked_worker {
    int pid, count;
    struct link *links[BLOCKED_EACH + 1];
};

static struct answer blocked_answer;

static int blocked_pid(void)
{
    size_t length;

    SUITE_CHECK(answer_status(&blocked_answer) == 200, "status %d", answer_status(&blocked_answer));
    return atoi((const char *)answer_body(&blocked_answer, &length));
}

/* Which worker gets a connection is not ours to say, but its answer tells. */
static void blocked_file(struct blocked_worker *workers, struct link *link)
{
    answer_ask(&blocked_answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/pid", .query = "0"});
    int pid = blocked_pid(), at = 0;
    while (at < SERVER_WORKERS && workers[at].pid != 0 && workers[at].pid != pid)
        at++;
    SUITE_CHECK(at < SERVER_WORKERS, "more than %d workers answer", SERVER_WORKERS);
    workers[at].pid = pid;
    if (workers[at].count <= BLOCKED_EACH)
        workers[at].links[workers[at].count++] = link;
}

static void blocked_collect(struct blocked_worker *workers, const struct server *server)
{
    int whole = 0;

    for (int i = 0; i < BLOCKED_LINKS_MAX && whole < SERVER_WORKERS; i++) {
        blocked_file(workers, link_new(server->local));
        whole = 0;
        for (int k = 0; k < SERVER_WORKERS; k++)
            whole += workers[k].count == BLOCKED_EACH + 1;
    }
    SUITE_CHECK(whole == SERVER_WORKERS, "of %d connections the workers have %d and %d or more", BLOCKED_LINKS_MAX,
                workers[0].count, workers[1].count);
}

static void blocked_send_sleeper(struct link *link)
{
    struct bytes bytes = {0};
    char query[16];

    snprintf(query, sizeof query, "%d", BLOCKED_SLEEP_MS);
    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/pid", .query = query});
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
}

static void blocked_ask_hellos(struct link *link)
{
    for (int i = 0; i < BLOCKED_HELLOS; i++) {
        int64_t start_ms = deadline_now_ms();

        answer_ask(&blocked_answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
        SUITE_CHECK(answer_status(&blocked_answer) == 200 && deadline_now_ms() - start_ms < BLOCKED_SLEEP_MS / 2,
                    "/hello beside %d blocked handlers: status %d after %d ms", BLOCKED_EACH,
                    answer_status(&blocked_answer), (int)(deadline_now_ms() - start_ms));
    }
}

void blocked_check(const struct server *server)
{
    struct blocked_worker workers[SERVER_WORKERS] = {0};
    int64_t start_ms;

    link_free_all();
    blocked_collect(workers, server);
    start_ms = deadline_now_ms();
    for (int i = 0; i < SERVER_WORKERS * BLOCKED_EACH; i++)
        blocked_send_sleeper(workers[i % SERVER_WORKERS].links[i / SERVER_WORKERS]);
    link_is_silent(workers[0].links[0], BLOCKED_SLEEP_MS / 4);
    for (int i = 0; i < SERVER_WORKERS; i++)
        blocked_ask_hellos(workers[i].links[BLOCKED_EACH]);
    for (int i = 0; i < SERVER_WORKERS * BLOCKED_EACH; i++) {
        answer_read(&blocked_answer, workers[i % SERVER_WORKERS].links[i / SERVER_WORKERS], 1, DEADLINE_USUAL_MS);
        CU_ASSERT_EQUAL(blocked_pid(), workers[i % SERVER_WORKERS].pid);
    }
    SUITE_CHECK(deadline_now_ms() - start_ms < BLOCKED_SLEEP_MS * 19 / 10,
                "%d handlers of %d ms in each worker took %d ms", BLOCKED_EACH, BLOCKED_SLEEP_MS,
                (int)(deadline_now_ms() - start_ms));
    link_free_all();
}
