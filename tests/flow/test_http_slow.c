/*
 * test_http_slow.c: slow and silent clients of the direct listener: each has its time, says nothing to the others, and
 * whoever is slow but steady is served. Cases C49, C57.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

#define HOST  "Host: h\r\n"
#define HELLO "GET /hello HTTP/1.1\r\n" HOST "\r\n"

enum {
    LIMIT_MS = 1000, /* of each kind in these cases */
    LATE_MS = 2500,  /* a busy machine */
    MEBIBYTE = 1 << 20,
    FAST_MS = SERVER_SANITIZED ? 3000 : 1000,
};

static struct http_answer answer;
static struct http http;

static void fast_one_is_served(const char *beside)
{
    static struct http_answer fast;
    int64_t start_ms = deadline_now_ms();

    http_ask(&fast, direct_address(), HELLO);
    SUITE_CHECK(fast.status == 200, "status %d beside %s", fast.status, beside);
    SUITE_CHECK(deadline_now_ms() - start_ms < FAST_MS, "%d ms beside %s", (int)(deadline_now_ms() - start_ms), beside);
}

/* -- Clients that stop ----------------------------------------------------------------------------------------------
 */

/* From `start_ms` on the limit runs. */
static void check_408(struct http *slow, int64_t start_ms, const char *what)
{
    int taken_ms;

    http_read(&answer, slow);
    taken_ms = (int)(deadline_now_ms() - start_ms);
    SUITE_CHECK(answer.status == 408, "%s: status %d", what, answer.status);
    SUITE_CHECK(taken_ms > LIMIT_MS - 100 && taken_ms < LIMIT_MS + LATE_MS, "%s: after %d ms", what, taken_ms);
    http_check_closes(&answer, slow, what);
    http_close(slow);
}

/* All at once, so that it takes the time of one. */
static void clients_that_stop(void)
{
    static const char *const texts[] = {
        "G",
        "GET /hello HTTP/1.1\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "X: ",
        HELLO "GET /he",
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nabcd",
        "POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nabcd",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n",
    };
    static struct http slow[SUITE_COUNT(texts)];
    int64_t start_ms;

    direct_start("head_timeout = 1\nbody_timeout = 1");
    start_ms = deadline_now_ms();
    for (size_t i = 0; i < SUITE_COUNT(texts); i++) {
        http_open(&slow[i], i % 2 ? direct_local() : direct_address());
        http_send(&slow[i], texts[i]);
    }
    fast_one_is_served("clients that stop");
    for (size_t i = 0; i < SUITE_COUNT(texts); i++) {
        if (strncmp(texts[i], HELLO, strlen(HELLO)) == 0)
            http_read(&answer, &slow[i]); /* the first, which is whole */
        check_408(&slow[i], start_ms, texts[i]);
    }
    direct_check_settled();
}

/* A head has its time as a whole, however many pieces it comes in. */
static void trickling_heads(void)
{
    enum { CLIENTS = 2 * SERVER_THREADS + 4 }; /* more than there are threads */
    static const char head[] = "GET /hello HTTP/1.1\r\nHost: h\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static struct http slow[CLIENTS];
    int64_t start_ms;

    direct_start("head_timeout = 1");
    start_ms = deadline_now_ms();
    for (int i = 0; i < CLIENTS; i++) {
        http_open(&slow[i], i % 2 ? direct_local() : direct_address());
        http_send_bytes(&slow[i], head, 1);
    }
    for (size_t at = 1; at < strlen(head) && http_end(&slow[0], 50) == HTTP_OPEN; at++) {
        for (int i = 0; i < CLIENTS; i++)
            link_try_send(slow[i].link, head + at, 1, 0);
        fast_one_is_served("heads that trickle");
    }
    SUITE_CHECK(deadline_now_ms() - start_ms > LIMIT_MS - 100, "cut after %d ms", (int)(deadline_now_ms() - start_ms));
    slow[0].taken = 0;
    for (int i = 0; i < CLIENTS; i++)
        check_408(&slow[i], start_ms, "a head that trickles");
    direct_check_settled();
}

/* The time of a body is between two pieces of it: who goes on is not cut. */
static void steady_bodies(void)
{
    direct_start("body_timeout = 1");
    http_open(&http, direct_local());
    http_send(&http, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\n");
    for (int i = 0; i < 6; i++) {
        SUITE_CHECK(http_end(&http, 300) == HTTP_OPEN, "an answer after %d bytes", i);
        http_send_bytes(&http, "abcdef" + i, 1);
    }
    http_read(&answer, &http);
    CU_ASSERT(answer.status == 200 && http_body_is(&answer, "abcdef"));
    http_close(&http);
    direct_check_settled();
}

/* The handler has been called by then: it hears that the body is cut, and the connection ends. */
static void bodies_that_stop_under_the_handler(void)
{
    static char piece[100000];
    int64_t start_ms;

    direct_start("body_timeout = 1");
    http_open(&http, direct_address());
    http_send(&http, "POST /readpart?all HTTP/1.1\r\n" HOST "Content-Length: 200000\r\n\r\n");
    http_send_bytes(&http, piece, sizeof piece);
    start_ms = deadline_now_ms();
    fast_one_is_served("a body that stops");
    if (http_end(&http, DEADLINE_USUAL_MS) == HTTP_MORE)
        http_read(&answer, &http);
    SUITE_CHECK(deadline_now_ms() - start_ms < LIMIT_MS + LATE_MS, "after %d ms", (int)(deadline_now_ms() - start_ms));
    CU_ASSERT(http_end(&http, DEADLINE_USUAL_MS) == HTTP_ENDED);
    http_close(&http);
    direct_check_settled();
}

/* -- Idle connections -------------------------------------------------------------------------------------------------
 */

/* Not a byte: a client could take a 408 for the answer to the request that it sends in the same moment. */
static void idle_connections_close_silently(void)
{
    static struct http idle[8];
    int64_t start_ms;

    direct_start("idle_timeout = 1\nhead_timeout = 1");
    for (size_t i = 0; i < SUITE_COUNT(idle); i++) {
        http_open(&idle[i], i % 2 ? direct_local() : direct_address());
        http_send(&idle[i], i & 2 ? "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na\r\n" : HELLO);
        http_read(&answer, &idle[i]);
    }
    start_ms = deadline_now_ms();
    for (size_t i = 0; i < SUITE_COUNT(idle); i++) {
        enum http_end end = http_end(&idle[i], DEADLINE_USUAL_MS);
        int taken_ms = (int)(deadline_now_ms() - start_ms);

        SUITE_CHECK(end == HTTP_ENDED, "connection %zu: %d: %.80s", i, end, bytes_text(&idle[i].input) + idle[i].taken);
        SUITE_CHECK(taken_ms > LIMIT_MS - 200 && taken_ms < LIMIT_MS + LATE_MS, "connection %zu: after %d ms", i,
                    taken_ms);
        http_close(&idle[i]);
    }
    direct_check_settled();
}

/* Who never says a word is sent away too, in whatever words. */
static void silent_connections_close(void)
{
    static struct http silent[4];

    direct_start("idle_timeout = 1\nhead_timeout = 1");
    for (size_t i = 0; i < SUITE_COUNT(silent); i++)
        http_open(&silent[i], i % 2 ? direct_local() : direct_address());
    for (size_t i = 0; i < SUITE_COUNT(silent); i++) {
        if (http_end(&silent[i], DEADLINE_USUAL_MS) == HTTP_MORE) {
            http_read(&answer, &silent[i]);
            CU_ASSERT_EQUAL(answer.status, 408);
        }
        CU_ASSERT(http_end(&silent[i], DEADLINE_USUAL_MS) == HTTP_ENDED);
        http_close(&silent[i]);
    }
    direct_check_settled();
}

static void idle_connections_stay_within_their_time(void)
{
    direct_start("idle_timeout = 60\nhead_timeout = 1");
    http_open(&http, direct_local());
    for (int i = 0; i < 2; i++) { /* longer than a head may take */
        http_send(&http, HELLO);
        http_read(&answer, &http);
        SUITE_CHECK(http_end(&http, i == 0 ? LIMIT_MS + 500 : 5) == HTTP_OPEN, "closed while idle");
    }
    http_close(&http);
    direct_check_settled();
}

/* -- Readers ----------------------------------------------------------------------------------------------------------
 */

struct reader {
    struct link *link;
    size_t blank;  /* of CR LF CR LF, matched so far */
    size_t length; /* of the body so far */
};

static char reader_piece[65536];

/* One read. HTTP/1.0, so that the body is all that comes behind the head. Returns false at the end. */
static bool read_piece(struct reader *reader, size_t most, int limit_ms)
{
    static const char end[] = "\r\n\r\n";
    long got = link_try_read(reader->link, reader_piece, most, limit_ms);

    SUITE_CHECK(got >= 0, "nothing more after %zu bytes", reader->length);
    for (long i = 0; i < got; i++) {
        if (reader->blank < 4) {
            reader->blank = reader_piece[i] == end[reader->blank] ? reader->blank + 1 : reader_piece[i] == '\r';
        } else {
            SUITE_CHECK(reader_piece[i] == (char)('a' + reader->length % 23), "byte %zu is another", reader->length);
            reader->length++;
        }
    }
    return got > 0;
}

static void open_reader(struct reader *reader, const char *address, size_t length)
{
    char request[100];

    *reader = (struct reader){.link = link_new(address)};
    link_shrink_receive_buffer(reader->link, 32768);
    snprintf(request, sizeof request, "GET /bigout?%zu HTTP/1.0\r\n\r\n", length);
    link_send(reader->link, request, strlen(request));
}

/* 20 MiB to somebody who stops after every 64 KiB. */
static void a_reader_that_pauses(void)
{
    static struct reader reader;
    int64_t fed_ms = 0;
    const size_t length = 20 * MEBIBYTE;

    direct_start("write_timeout = 1");
    open_reader(&reader, direct_address(), length);
    for (size_t next = 65536; read_piece(&reader, sizeof reader_piece, DEADLINE_USUAL_MS);) {
        if (reader.length < next)
            continue;
        next = reader.length + 65536;
        poll(NULL, 0, 4); /* a reader is slow by sleeping */
        if (reader.length / MEBIBYTE % 8 == 1 && deadline_now_ms() - fed_ms > 500) {
            fast_one_is_served("a reader that pauses");
            poll(NULL, 0, 300);
            fed_ms = deadline_now_ms();
        }
    }
    SUITE_CHECK(reader.length == length, "%zu bytes of %zu", reader.length, length);
    direct_check_settled();
}

static void fifty_readers_that_pause(void)
{
    enum { READERS = 50 };
    static struct reader readers[READERS];
    const size_t length = 3 * MEBIBYTE;
    size_t open = READERS;

    direct_start("threads = 60\nwrite_timeout = 10");
    for (int i = 0; i < READERS; i++)
        open_reader(&readers[i], i % 2 ? direct_local() : direct_address(), length);
    for (int i = 0; i < 20; i++) {
        fast_one_is_served("fifty readers that stop");
        poll(NULL, 0, 10);
    }
    for (int round = 0; open > 0; round++) {
        for (int i = 0; i < READERS; i++) {
            if (!readers[i].link || read_piece(&readers[i], sizeof reader_piece, DEADLINE_USUAL_MS))
                continue;
            SUITE_CHECK(readers[i].length == length, "reader %d: %zu bytes of %zu", i, readers[i].length, length);
            link_free(readers[i].link);
            readers[i].link = NULL;
            open--;
        }
        if (round % 16 == 0)
            fast_one_is_served("fifty readers that pause");
    }
    direct_check_settled();
}

static bool has_begun(void *context)
{
    return !link_is_silent(((struct reader *)context)->link, 0);
}

/* A reader that stops for good: its connection ends at the limit, though the answer is not out. */
static void readers_that_stop(void)
{
    enum { READERS = 6 };
    static struct reader readers[READERS];
    struct server *server = direct_start("write_timeout = 1");
    long before = server_sum(server, process_descriptor_count);
    int64_t start_ms = deadline_now_ms();

    for (int i = 0; i < READERS; i++)
        open_reader(&readers[i], i % 2 ? direct_local() : direct_address(), 8 * MEBIBYTE);
    for (int i = 0; i < READERS; i++)
        CU_ASSERT(deadline_wait(DEADLINE_USUAL_MS, has_begun, &readers[i]));
    fast_one_is_served("readers that stop");
    while (server_sum(server, process_descriptor_count) > before) {
        SUITE_CHECK(deadline_now_ms() - start_ms < 3 * (LIMIT_MS + LATE_MS), "still open after %d ms",
                    (int)(deadline_now_ms() - start_ms));
        poll(NULL, 0, 20);
    }
    SUITE_CHECK(deadline_now_ms() - start_ms > LIMIT_MS - 100, "closed after %d ms",
                (int)(deadline_now_ms() - start_ms));
    for (int i = 0; i < READERS; i++) {
        while (read_piece(&readers[i], sizeof reader_piece, DEADLINE_USUAL_MS))
            ;
        SUITE_CHECK(readers[i].length < 8 * MEBIBYTE, "reader %d got everything", i);
    }
    direct_check_settled();
}

/* One piece after the other for longer than the limit: it is the time of a piece. */
static void steady_readers(void)
{
    static struct reader reader;
    int64_t start_ms = deadline_now_ms();

    direct_start("write_timeout = 1");
    open_reader(&reader, direct_local(), 2 * MEBIBYTE);
    while (read_piece(&reader, sizeof reader_piece, DEADLINE_USUAL_MS))
        poll(NULL, 0, 60);
    SUITE_CHECK(reader.length == 2 * MEBIBYTE, "cut after %zu bytes and %d ms", reader.length,
                (int)(deadline_now_ms() - start_ms));
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"clients that stop: 408", clients_that_stop},
    {"heads that trickle: 408", trickling_heads},
    {"steady bodies are not cut", steady_bodies},
    {"bodies that stop under the handler", bodies_that_stop_under_the_handler},
    {"idle connections close silently", idle_connections_close_silently},
    {"silent connections close", silent_connections_close},
    {"idle connections stay within their time", idle_connections_stay_within_their_time},
    {"a reader that pauses gets 20 MiB", a_reader_that_pauses},
    {"fifty readers that pause", fifty_readers_that_pause},
    {"readers that stop are cut", readers_that_stop},
    {"steady readers are not cut", steady_readers},
};

int main(int argc, char **argv)
{
    return suite_main("http_slow", cases, SUITE_COUNT(cases), argc, argv);
}
