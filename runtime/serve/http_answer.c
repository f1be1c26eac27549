/*
 * http_answer.c: status line, fields, chunks. What fits is put directly before the body, so that a small answer is one
 * piece. Runs on the thread that has the request.
 */
#include "serve/http_answer.h"

#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "serve/connection.h"
#include "serve/reason.h"
#include "serve/request.h"
#include "serve/stream.h"
#include "serve/worker.h"

#define OWN_BYTES     384  /* what the server itself says in a head, at most */
#define REASON_BYTES  128  /* of the application's own words in it */
#define SCRATCH_BYTES 2048 /* a head that is no larger needs no memory of its own */

static const char last_chunk[] = "0\r\n\r\n";

/* -- the head --------------------------------------------------------------------------------------------------------
 */

/* Where the lines of a head go. */
struct text {
    char *at;
};

static void put(struct text *text, const char *bytes, size_t length)
{
    memcpy(text->at, bytes, length);
    text->at += length;
}

static void put_line(struct text *text, const char *line)
{
    put(text, line, strlen(line));
}

static void put_number(struct text *text, int64_t number)
{
    char digits[20], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(text, at, (size_t)(digits + sizeof digits - at));
}

/* The line Date with the current second, made once a second in each thread. */
static void put_date(struct text *text)
{
    static __thread struct {
        time_t second;
        char line[48];
        size_t length;
    } date;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (date.length == 0 || date.second != now.tv_sec) {
        static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        struct tm utc;
        gmtime_r(&now.tv_sec, &utc);
        date.length = (size_t)snprintf(date.line, sizeof date.line, "Date: %s, %02u %s %04u %02u:%02u:%02u GMT\r\n",
                                       days[utc.tm_wday], (unsigned)utc.tm_mday % 100, months[utc.tm_mon],
                                       (unsigned)(utc.tm_year + 1900) % 10000, (unsigned)utc.tm_hour % 100,
                                       (unsigned)utc.tm_min % 100, (unsigned)utc.tm_sec % 100);
        date.second = now.tv_sec;
    }
    put(text, date.line, date.length);
}

static void put_status(struct text *text, const struct request *request)
{
    struct span reason = request->header.reason;
    if (request->status == 200 && reason.length == 0) {
        put_line(text, "HTTP/1.1 200 OK\r\n");
        return;
    }
    if (reason.length == 0 || reason.length > REASON_BYTES)
        reason = span_text(reason_of(request->status));
    put_line(text, "HTTP/1.1 ");
    put_number(text, request->status);
    put_line(text, " ");
    put(text, (const char *)reason.at, reason.length);
    put_line(text, "\r\n");
}

static void put_own_lines(struct text *text, const struct request *request)
{
    const struct http *http = &request->connection->http;
    if (!request->header.has_server)
        put_line(text, "Server: millrace\r\n");
    if (!request->header.has_date)
        put_date(text);
    if (request->computed_bytes >= 0) {
        put_line(text, "Content-Length: ");
        put_number(text, request->computed_bytes);
        put_line(text, "\r\n");
    }
    if (http->answers_chunks)
        put_line(text, "Transfer-Encoding: chunked\r\n");
    if (!http->keep)
        put_line(text, "Connection: close\r\n");
    else if (request->head.minor == 0)
        put_line(text, "Connection: keep-alive\r\n");
}

/* Returns the whole head, in `scratch` or in the request's memory; nothing when memory is short. */
static struct iovec make_head(struct request *request, char scratch[SCRATCH_BYTES])
{
    const uint8_t *block = stream_output_content(request);
    size_t most = OWN_BYTES + 2 * request->header.blank_at;
    char *start = most <= SCRATCH_BYTES ? scratch : arena_take(&request->arena, most);
    if (start == NULL)
        return (struct iovec){0};
    struct text text = {start};
    put_status(&text, request);
    put_own_lines(&text, request);
    text.at += cgi_header_copy(&request->header, block, (uint8_t *)text.at);
    put_line(&text, "\r\n");
    CHECK((size_t)(text.at - start) <= most);
    return (struct iovec){.iov_base = start, .iov_len = (size_t)(text.at - start)};
}

/* Puts the head in front of the body, where the handler's header block was, and what is free before that. A large one
 * with many short lines may not fit, and is a piece of its own. Returns false when memory is short. */
static bool place_head(struct request *request, struct iovec head, const char *scratch, struct iovec to[2])
{
    struct iovec *body = &to[1];
    if (head.iov_len <= (size_t)((uint8_t *)body->iov_base - request->output)) {
        body->iov_base = (uint8_t *)body->iov_base - head.iov_len;
        body->iov_len += head.iov_len;
        memcpy(body->iov_base, head.iov_base, head.iov_len);
        return head.iov_len > 0;
    }
    to[0] = head;
    if (head.iov_base != scratch)
        return true;
    to[0].iov_base = arena_take(&request->arena, head.iov_len);
    if (to[0].iov_base == NULL)
        return false;
    memcpy(to[0].iov_base, scratch, head.iov_len);
    return true;
}

/* -- the body ---------------------------------------------------------------------------------------------------------
 */

/* There is room for both ends: a header block or the headroom before, the tailroom behind. */
static void put_chunk_ends(struct iovec *body)
{
    static const char digits[] = "0123456789abcdef";
    size_t size = body->iov_len;
    uint8_t *end = (uint8_t *)body->iov_base + size, *start = body->iov_base;
    memcpy(end, "\r\n", 2);
    *--start = '\n';
    *--start = '\r';
    do
        *--start = (uint8_t)digits[size % 16];
    while ((size /= 16) > 0);
    *body = (struct iovec){.iov_base = start, .iov_len = (size_t)(end + 2 - start)};
}

/* How the answer ends, and whether the connection goes on after it: said in the head, so it is decided before. */
static void decide(struct request *request, bool last)
{
    struct http *http = &request->connection->http;
    bool knows_length = last || request->bodiless || request->declared_bytes >= 0;
    bool has_rest = http->phase == HTTP_BODY;
    http->answers_chunks = !knows_length && request->head.minor == 1;
    if (!knows_length && !http->answers_chunks)
        http->keep = false;
    if (has_rest && (http->unasked || request->status == 413 || http->left_bytes > HTTP_SKIP_MAX_BYTES))
        http->keep = false;
    if (lane_draining(request->connection->lane) == WORKER_ENDS)
        http->keep = false;
}

static void put_chunks(const struct request *request, struct iovec *body, bool last)
{
    if (body->iov_len > 0)
        put_chunk_ends(body);
    if (last && !request->cut) {
        memcpy((uint8_t *)body->iov_base + body->iov_len, last_chunk, sizeof last_chunk - 1);
        body->iov_len += sizeof last_chunk - 1;
    }
}

void http_answer_frame(struct request *request, size_t header_bytes, size_t body_bytes, bool last, struct iovec to[2])
{
    const struct http *http = &request->connection->http;
    char scratch[SCRATCH_BYTES];
    struct iovec head = {0};
    if (header_bytes > 0) {
        decide(request, last);
        head = make_head(request, scratch);
    }
    to[0] = (struct iovec){0};
    to[1] = (struct iovec){.iov_base = stream_output_content(request) + header_bytes, .iov_len = body_bytes};
    if (http->answers_chunks)
        put_chunks(request, &to[1], last);
    if (header_bytes > 0 && !place_head(request, head, scratch, to)) {
        request->cut = true;
        to[0] = to[1] = (struct iovec){0};
    }
}
