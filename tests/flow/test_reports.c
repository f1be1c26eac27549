/*
 * test_reports.c: what the log says about crashes and slow handlers: the request, the thread, and a backtrace that
 * names static functions of an application. Cases C38, C97.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "deadline.h"
#include "server.h"
#include "suite.h"

static struct answer answer;

/* A request that nobody waits for, or whose connection is expected to end. */
static struct link *start(const struct server *server, const char *path, const char *query)
{
    struct link *link = link_new(server->local);
    struct bytes bytes = {0};

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = path, .query = query});
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
    return link;
}

/* The first line of the log with this text in it, all of it. */
static const char *line_with(const struct server *server, const char *text)
{
    static char line[4096];
    char path[SERVER_PATH_MAX + 20];
    bool found = false;
    FILE *log;

    SUITE_CHECK(server_log_waits_for(server, text, DEADLINE_USUAL_MS), "the log does not say: %s", text);
    snprintf(path, sizeof path, "%s/log", server->directory);
    log = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    while (!found && fgets(line, sizeof line, log))
        found = strstr(line, text) != NULL;
    fclose(log);
    return line;
}

static void check_names(const char *line, const char *const *names)
{
    for (; *names; names++)
        SUITE_CHECK(strstr(line, *names), "'%s' is missing in: %s", *names, line);
}

static void ask_hello(const struct server *server)
{
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
}

/* -- Crashes --------------------------------------------------------------------------------------------------------
 */

static void check_crash(const char *query, const char *signal_text, const char *const *names)
{
    struct server *server = server_start(NULL);

    CU_ASSERT(link_closes(start(server, "/fault", query), DEADLINE_USUAL_MS));
    check_names(line_with(server, signal_text), names);
    ask_hello(server);
    server_workers_without(server, 0);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void a_store_is_named(void)
{
    check_crash("store", "was ended by signal 11",
                (const char *const[]){"worker ", "Segmentation fault", "address 0x0", "GET /fault", "route /fault",
                                      "thread ", "backtrace: fault_store at fault.c:", "< fault at fault.c:", NULL});
}

static void a_division_is_named(void)
{
    check_crash("divide", "was ended by signal 8",
                (const char *const[]){"Floating point exception", "route /fault", "fault_divide at fault.c:", NULL});
}

static void an_overflown_stack_is_named(void)
{
    check_crash("overflow", "was ended by signal 11",
                (const char *const[]){"route /fault", "fault_overflow at fault.c:", NULL});
}

static void a_wild_call_is_named(void)
{
    check_crash("jump", "was ended by signal 11",
                (const char *const[]){"address 0x0", "backtrace: 0x0 < fault_jump at fault.c:", NULL});
}

/* abort() is a signal that the process sends to itself. */
static void an_abort_is_named(void)
{
    struct server *server = server_start(NULL);

    CU_ASSERT(link_closes(start(server, "/crash", "6"), DEADLINE_USUAL_MS));
    check_names(line_with(server, "was ended by signal 6"),
                (const char *const[]){"Aborted", "GET /crash", "route /crash", "crash at crash.c:", NULL});
}

static void exit_names_the_request(void)
{
    struct server *server = server_start(NULL);

    CU_ASSERT(link_closes(start(server, "/exit", "3"), DEADLINE_USUAL_MS));
    check_names(line_with(server, "called exit()"), (const char *const[]){"GET /exit", "route /exit", NULL});
}

static void outside_of_requests(void)
{
    struct server *server = server_start(NULL);

    kill(server_workers_without(server, 0).pids[0], SIGSEGV);
    check_names(line_with(server, "was ended by signal 11"),
                (const char *const[]){"in no request", "backtrace: ", NULL});
    kill(server_workers_without(server, 0).pids[0], SIGKILL);
    line_with(server, "was ended by signal 9 (Killed)");
}

/* The line stays a line, and cannot be read as another. */
static void hostile_uri(void)
{
    struct server *server = server_start(NULL);
    const char *line;

    CU_ASSERT(link_closes(start(server, "/crash", "11\n2026-01-01T00:00:00.000Z error forged"), DEADLINE_USUAL_MS));
    line = line_with(server, "was ended by signal 11");
    SUITE_CHECK(strstr(line, "forged") == NULL || strstr(line, "\\x0a2026") != NULL, "%s", line);
}

/* -- Slow handlers --------------------------------------------------------------------------------------------------
 */

/* The look at the thread's stack does not disturb what it waits for. */
static void slow_is_logged_and_goes_on(void)
{
    struct server *server = server_start("request_timeout = 1");
    int64_t start_ms = deadline_now_ms(), took_ms;
    struct link *link = start(server, "/pid", "1800");

    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    took_ms = deadline_now_ms() - start_ms;
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    SUITE_CHECK(took_ms >= 1790, "a handler of 1800 ms took %d ms", (int)took_ms);
    check_names(line_with(server, "slow: "),
                (const char *const[]){"GET /pid", "route /pid", "has run for 1.", "worker ", "< pid at pid.c:", NULL});
    CU_ASSERT_EQUAL(server_log_count(server, "slow: "), 1);
    link = start(server, "/pid", "900");
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(server_log_count(server, "slow: "), 1);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* The time that a handler waits for its client is not its own. */
static void a_slow_client_is_no_slow_handler(void)
{
    struct server *server = server_start("request_timeout = 1");
    struct link *link = link_new(server->local);
    struct bytes bytes = {0};

    link_shrink_receive_buffer(link, 4096);
    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/bigout", .query = "4000000"});
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
    SUITE_CHECK(!server_log_waits_for(server, "slow: ", 2500), "a slow client was logged as a slow handler");
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
}

static int left(int at)
{
    size_t length;
    int before, after;

    CU_ASSERT_EQUAL(sscanf((const char *)answer_body(&answer, &length), "%d %d", &before, &after), 2);
    return at == 0 ? before : after;
}

static void handlers_know_their_deadline(void)
{
    char options[900];
    struct server *server;

    snprintf(options, sizeof options,
             "request_timeout = 2\napp \"/short\" { file = \"%s\" request_timeout = 1 }\n"
             "app \"/endless\" { file = \"%s\" request_timeout = 0 }",
             server_app("deadline"), server_app("deadline"));
    server = server_start(options);
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/deadline", .query = "300"});
    SUITE_CHECK(left(0) > 1900 && left(0) <= 2000 && left(1) > 1000 && left(1) <= 1700, "%d, %d", left(0), left(1));
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/short", .query = "1100"});
    SUITE_CHECK(left(0) > 900 && left(0) <= 1000 && left(1) == 0, "%d, %d", left(0), left(1));
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/endless", .query = "1"});
    SUITE_CHECK(left(0) == 2147483647 && left(1) == 2147483647, "%d, %d", left(0), left(1));
}

static const struct suite_case cases[] = {
    {"a store to nowhere is named", a_store_is_named},
    {"a division by zero is named", a_division_is_named},
    {"an overflown stack is named", an_overflown_stack_is_named},
    {"a call of no code is named", a_wild_call_is_named},
    {"an abort is named", an_abort_is_named},
    {"exit names the request", exit_names_the_request},
    {"crashes outside of requests", outside_of_requests},
    {"a hostile URI", hostile_uri},
    {"a slow handler is logged and goes on", slow_is_logged_and_goes_on},
    {"a slow client is no slow handler", a_slow_client_is_no_slow_handler},
    {"handlers know their deadline", handlers_know_their_deadline},
};

int main(int argc, char **argv)
{
    return suite_main("reports", cases, SUITE_COUNT(cases), argc, argv);
}
