/* line.c: sends the batches and reads what comes back, on all connections in turn. */
#include "line.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "chance.h"
#include "flow/answer.h"
#include "flow/deadline.h"
#include "flow/server.h"
#include "kind.h"
#include "suite.h"

enum { LINE_BATCH_MAX = 24 };
_Static_assert(EXPECT_MAX >= 2 * LINE_BATCH_MAX, "some requests have two answers");

static struct line lines[LINE_COUNT];
static const struct server *line_server;
static uint64_t line_seed, line_batches;
static long line_requests;
static const struct line *line_last; /* that was looked at */

void line_init(const struct server *server, uint64_t seed)
{
    line_server = server;
    line_seed = seed;
}

long line_request_count(void)
{
    return line_requests;
}

uint64_t line_batch_count(void)
{
    return line_batches;
}

static int line_number(const struct line *line)
{
    return (int)(line - lines);
}

static void line_open(struct line *line)
{
    if (!line->link)
        line->link = link_new(line_number(line) % 2 ? line_server->tcp : line_server->local);
}

static void line_close(struct line *line)
{
    if (line->link && line->resets)
        setsockopt(line->link->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    link_free(line->link);
    line->link = NULL;
}

static size_t line_unsent(const struct line *line)
{
    return line->out.length - line->out_sent;
}

static void line_send(struct line *line)
{
    size_t unsent = line_unsent(line), sent;

    if (unsent == 0)
        return;
    sent = link_try_send(line->link, line->out.data + line->out_sent, unsent, 0);
    line->out_sent += sent;
    if (sent == unsent || errno == EAGAIN)
        return;
    /* What follows a broken record need not be taken. */
    SUITE_CHECK(line->ending == LINE_ENDS_BY_SERVER, "the server closed after request %ld (%s): %s", line_requests,
                line->kind->name, strerror(errno));
    line->out_sent = line->out.length;
}

/* Nothing more is expected, or only a part of one answer: so what comes is the end, or our reason to close. */
static void line_read_end(struct line *line)
{
    static char waste[100000];
    long got = link_try_read(line->link, waste, line->ending == LINE_ENDS_IN_ANSWER ? line->sip_bytes : 1, 0);

    if (line->ending == LINE_ENDS_IN_ANSWER && got != 0) {
        line->expects.at++;
        return;
    }
    if (got == 0 && line->ending == LINE_ENDS_BY_SERVER) {
        line_close(line);
        line->busy = false;
        return;
    }
    /* Wild records may be answered, or cost the connection. */
    if (line->ending == LINE_ENDS_BY_CLIENT)
        return;
    SUITE_CHECK(got < 0, "%s after request %s, %s", got ? "more bytes" : "the end", line->kind->name,
                line->ending == LINE_IS_KEPT ? "which keeps the connection" : "which is the last one");
}

static bool line_has_input(const struct line *line)
{
    char byte;

    return line->busy && recv(line->link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Once the first byte of an answer is there its rest does not wait for anything that we send: reading may block. */
static void line_read(struct line *line)
{
    do {
        size_t left = expect_left(&line->expects);

        if (left > 1 || (left == 1 && line->ending != LINE_ENDS_IN_ANSWER)) {
            expect_check(&line->expects, line->link);
        } else {
            line_read_end(line);
            return;
        }
    } while (line_has_input(line));
}

/* After each step: is the batch through? */
static void line_settle(struct line *line)
{
    if (!line->busy || line_unsent(line) > 0 || expect_left(&line->expects) > 0 || line->ending == LINE_ENDS_BY_SERVER)
        return;
    if (line->ending != LINE_IS_KEPT)
        line_close(line);
    line->busy = false;
}

static void line_fill(struct line *line, size_t count)
{
    for (size_t i = 0; i < count && line->ending == LINE_IS_KEPT; i++) {
        line->kind = kind_choose();
        line->expects.request = line->kind->name;
        line->expects.number = ++line_requests;
        line->kind->add(line);
    }
}

/* The next batch, of no more than `most` requests. */
static void line_give_batch(struct line *line, long most)
{
    size_t count;

    chance_begin(line_seed, line_batches++);
    count = chance_between(1, LINE_BATCH_MAX);
    line->resets = chance_one_in(2);
    line->ending = LINE_IS_KEPT;
    line->out_sent = 0;
    bytes_clear(&line->out);
    expect_clear(&line->expects);
    line_fill(line, (long)count < most ? count : (size_t)most);
    line->busy = true;
    line->progress_ms = deadline_now_ms();
    line_open(line);
    line_send(line);
    line_settle(line);
}

static void line_step(struct line *line, short events)
{
    line_last = line;
    if (events & (POLLOUT | POLLERR))
        line_send(line);
    if (events & (POLLIN | POLLHUP | POLLERR))
        line_read(line);
    if (events)
        line->progress_ms = deadline_now_ms();
    line_settle(line);
    SUITE_CHECK(!line->busy || deadline_now_ms() - line->progress_ms < DEADLINE_USUAL_MS,
                "nothing for %d ms: connection %d, after request %s, %zu of %zu bytes sent, %zu of %zu answers read%s",
                DEADLINE_USUAL_MS, line_number(line), line->kind->name, line->out_sent, line->out.length,
                line->expects.at, line->expects.count,
                line->ending == LINE_ENDS_BY_SERVER ? ", and it must close" : "");
}

/* Returns whether any line was busy still. */
static bool line_turn(void)
{
    struct pollfd polled[LINE_COUNT];
    bool busy = false;

    for (int i = 0; i < LINE_COUNT; i++) {
        const struct line *line = &lines[i];

        polled[i] = (struct pollfd){.fd = line->busy ? line->link->fd : -1,
                                    .events = line_unsent(line) > 0 ? POLLIN | POLLOUT : POLLIN};
        busy = busy || line->busy;
    }
    if (busy && poll(polled, LINE_COUNT, 1000) >= 0) {
        for (int i = 0; i < LINE_COUNT; i++)
            line_step(&lines[i], polled[i].fd < 0 ? 0 : polled[i].revents);
    }
    return busy;
}

void line_run(long request_count)
{
    do {
        for (int i = 0; i < LINE_COUNT; i++) {
            if (!lines[i].busy && line_requests < request_count)
                line_give_batch(&lines[i], request_count - line_requests);
        }
    } while (line_turn() || line_requests < request_count);
}

void line_open_all(void)
{
    static struct answer answer;

    for (int i = 0; i < LINE_COUNT; i++) {
        line_open(&lines[i]);
        answer_ask(&answer, lines[i].link, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
        SUITE_CHECK(answer_status(&answer) == 200, "status %d for /hello", answer_status(&answer));
    }
}

void line_close_all(void)
{
    for (int i = 0; i < LINE_COUNT; i++)
        line_close(&lines[i]);
}

void line_print_last(void)
{
    const struct line *line = line_last;

    if (!line)
        return;
    for (size_t i = 0; i < line->expects.count; i++) {
        const struct expect *expect = &line->expects.entries[i];

        printf("# connection %d: answer %zu of request %ld (%s), id %d%s\n", line_number(line), i + 1, expect->number,
               expect->request, expect->id, i == line->expects.at ? ": this one failed" : "");
    }
    printf("# connection %d: the last request of the batch: %s; %zu of %zu bytes sent\n", line_number(line),
           line->kind->name, line->out_sent, line->out.length);
}
