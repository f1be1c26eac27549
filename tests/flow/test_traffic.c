/*
 * test_traffic.c: the client of traffic.h notices whatever is wrong with an answer. Instead of nginx a small HTTP
 * server in this program answers, which spoils every hundredth answer in one way.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deadline.h"
#include "front.h"
#include "suite.h"
#include "traffic.h"

enum { REQUESTS = 4000, SPOILED_EACH = 100, REQUEST_MAX = 128 * 1024, ROOM = 256 * 1024 };

enum spoil {
    SPOIL_NOTHING,
    SPOIL_BYTE,    /* one byte of the body is another */
    SPOIL_LENGTH,  /* the body lacks its last byte, and the head says so */
    SPOIL_LONGER,  /* it has one of its bytes twice, and the head says so */
    SPOIL_MORE,    /* a byte follows that belongs to no answer */
    SPOIL_STATUS,  /* 502 */
    SPOIL_CLOSE,   /* the connection ends within the body */
    SPOIL_SILENCE, /* it ends without an answer */
};

static struct front front;
static int listener = -1;
static enum spoil spoil;
static atomic_long answers, spoiled;

/* -- The server -------------------------------------------------------------------------------------------------------
 */

struct visit {
    int fd;
    size_t head_length, body_length;
    char request[REQUEST_MAX + 1], answer[ROOM];
};

/* Reads one request. Returns false at the connection's end. */
static bool read_request(struct visit *visit)
{
    size_t got = 0;

    visit->head_length = visit->body_length = 0;
    while (visit->head_length == 0 || got < visit->head_length + visit->body_length) {
        ssize_t part = recv(visit->fd, visit->request + got, REQUEST_MAX - got, 0);
        const char *end, *length;

        if (part <= 0)
            return false;
        got += (size_t)part;
        visit->request[got] = '\0';
        end = visit->head_length == 0 ? strstr(visit->request, "\r\n\r\n") : NULL;
        if (!end)
            continue;
        visit->head_length = (size_t)(end + 4 - visit->request);
        length = strstr(visit->request, "Content-Length: ");
        visit->body_length = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
    }
    return true;
}

/* What the real applications would say, as far as the client can tell. */
static size_t right_body(const struct visit *visit, char *body)
{
    if (strncmp(visit->request, "POST", 4) == 0) {
        memcpy(body, visit->request + visit->head_length, visit->body_length);
        return visit->body_length;
    }
    if (strncmp(visit->request, "GET /env?", 9) == 0)
        return (size_t)sprintf(body, "A=b\nQUERY_STRING=%.*s\n", (int)strcspn(visit->request + 9, " "),
                               visit->request + 9);
    memset(body, visit->request[5], 450);
    return 450;
}

/* Sends an answer. Returns false when the connection is to end. */
static bool answer_request(struct visit *visit, enum spoil how)
{
    static _Thread_local char body[REQUEST_MAX + 64];
    size_t length = right_body(visit, body), head;

    if (how == SPOIL_SILENCE)
        return false;
    if (how == SPOIL_BYTE)
        body[length / 2] ^= 1;
    if (how == SPOIL_LENGTH)
        length--;
    if (how == SPOIL_LONGER) {
        memmove(body + length / 2 + 1, body + length / 2, length - length / 2);
        length++;
    }
    head = (size_t)snprintf(visit->answer, sizeof visit->answer, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n",
                            how == SPOIL_STATUS ? "502 Bad Gateway" : "200 OK", length);
    memcpy(visit->answer + head, body, length + 1);
    length += head;
    if (how == SPOIL_MORE)
        length++;
    if (how == SPOIL_CLOSE)
        length--;
    return send(visit->fd, visit->answer, length, MSG_NOSIGNAL) == (ssize_t)length && how != SPOIL_CLOSE;
}

static enum spoil next_spoil(void)
{
    long number = atomic_fetch_add(&answers, 1) - TRAFFIC_PAGES;

    if (spoil == SPOIL_NOTHING || number < 0 || number % SPOILED_EACH != SPOILED_EACH - 1)
        return SPOIL_NOTHING;
    atomic_fetch_add(&spoiled, 1);
    return spoil;
}

static void *serve_connection(void *argument)
{
    struct visit *visit = argument;

    while (read_request(visit) && answer_request(visit, next_spoil())) {
    }
    close(visit->fd);
    free(visit);
    return NULL;
}

static void *accept_connections(void *argument)
{
    int fd;

    (void)argument;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        struct visit *visit = calloc(1, sizeof *visit);
        pthread_t thread;

        if (!visit)
            abort();
        visit->fd = fd;
        if (pthread_create(&thread, NULL, serve_connection, visit) != 0)
            abort();
        pthread_detach(thread);
    }
    return NULL;
}

/* Started by the first case, ended with the program. */
static void start(enum spoil how)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t thread;

    spoil = how;
    atomic_store(&answers, 0);
    atomic_store(&spoiled, 0);
    if (listener >= 0)
        return;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 64) == 0);
    CU_ASSERT_FATAL(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    snprintf(front.address, sizeof front.address, "127.0.0.1:%d", ntohs(address.sin_port));
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, accept_connections, NULL) == 0);
    pthread_detach(thread);
}

/* -- Cases ------------------------------------------------------------------------------------------------------------
 */

static const struct traffic_result *drive(enum spoil how)
{
    start(how);
    return traffic_wait(traffic_start(&front, &(struct traffic_options){.requests = REQUESTS}));
}

/* Each spoiled answer is a failure with its name, and nothing else is one: the others come in by the same connections.
 */
static void check_noticed(enum spoil how, const char *get, const char *post)
{
    const struct traffic_result *result = drive(how);

    SUITE_CHECK(result->failed == REQUESTS / SPOILED_EACH && result->failed == atomic_load(&spoiled),
                "%ld were spoiled: %s", atomic_load(&spoiled), traffic_describe(result));
    CU_ASSERT_EQUAL(result->right, REQUESTS - result->failed);
    CU_ASSERT(result->gets_failed > 0 && result->posts_failed > 0);
    CU_ASSERT_EQUAL(result->gets_failed + result->posts_failed, result->failed);
    for (long i = 0; i < result->failed; i++) {
        const struct traffic_failure *failure = &result->failures[i];

        SUITE_CHECK(strcmp(failure->what, failure->post ? post : get) == 0 ||
                        (!failure->post && how <= SPOIL_LONGER && strcmp(failure->what, "another's variables") == 0),
                    "%s", traffic_describe(result));
        CU_ASSERT(result->start_ms <= failure->sent_ms && failure->sent_ms <= failure->failed_ms &&
                  failure->failed_ms <= result->end_ms);
    }
}

static void right_answers(void)
{
    const struct traffic_result *result = drive(SPOIL_NOTHING);

    SUITE_CHECK(result->sent == REQUESTS && result->right == REQUESTS && result->failed == 0, "%s",
                traffic_describe(result));
    CU_ASSERT_EQUAL(result->gets_sent + result->posts_sent, REQUESTS);
    SUITE_CHECK(result->posts_sent > REQUESTS / 8 && result->posts_sent < REQUESTS / 2, "%ld POSTs of %d",
                result->posts_sent, REQUESTS);
}

static void another_byte(void)
{
    check_noticed(SPOIL_BYTE, "the body is another", "the body is another");
}

static void a_short_body(void)
{
    check_noticed(SPOIL_LENGTH, "the body is another", "the body is another");
}

static void a_longer_body(void)
{
    check_noticed(SPOIL_LONGER, "the body is another", "the body is another");
}

static void another_status(void)
{
    check_noticed(SPOIL_STATUS, "status 502", "status 502");
}

static void the_end_within_a_body(void)
{
    check_noticed(SPOIL_CLOSE, "the connection ended", "the connection ended");
}

static void the_end_instead_of_an_answer(void)
{
    check_noticed(SPOIL_SILENCE, "the connection ended", "the connection ended");
}

/* It may come with the answer, or before the next one on the connection: never unnoticed but at the very end. */
static void bytes_behind_an_answer(void)
{
    const struct traffic_result *result = drive(SPOIL_MORE);

    SUITE_CHECK(result->failed >= REQUESTS / SPOILED_EACH - 1 && result->failed <= REQUESTS / SPOILED_EACH, "%s",
                traffic_describe(result));
}

static void counts_by_time(void)
{
    struct traffic *traffic;
    const struct traffic_result *result;

    start(SPOIL_NOTHING);
    traffic = traffic_start(&front, &(struct traffic_options){.rate = 1000, .requests = 500});
    result = traffic_wait(traffic);
    CU_ASSERT_EQUAL(traffic_right_between(traffic, result->start_ms, result->end_ms + 10), 500);
    CU_ASSERT_EQUAL(traffic_right_between(traffic, result->end_ms + 10, result->end_ms + 1000), 0);
    SUITE_CHECK(result->end_ms - result->start_ms >= 450, "500 at 1,000 a second took %d ms",
                (int)(result->end_ms - result->start_ms));
    SUITE_CHECK(traffic_longest_gap_ms(traffic, result->start_ms, result->end_ms + 500) >= 490, "a gap of %d ms",
                traffic_longest_gap_ms(traffic, result->start_ms, result->end_ms + 500));
    SUITE_CHECK(traffic_longest_gap_ms(traffic, result->start_ms, result->end_ms) < 300, "a gap of %d ms",
                traffic_longest_gap_ms(traffic, result->start_ms, result->end_ms));
}

static const struct suite_case cases[] = {
    {"right answers", right_answers},
    {"another byte", another_byte},
    {"a short body", a_short_body},
    {"a longer body", a_longer_body},
    {"bytes behind an answer", bytes_behind_an_answer},
    {"another status", another_status},
    {"the end within a body", the_end_within_a_body},
    {"the end instead of an answer", the_end_instead_of_an_answer},
    {"counts by time", counts_by_time},
};

int main(int argc, char **argv)
{
    return suite_main("traffic", cases, SUITE_COUNT(cases), argc, argv);
}
