/*
 * http_answer.c: status line, fields, chunks, put directly before the body, so that an answer is one piece. Runs on the
 * thread that has the request.
 */
#include "serve/http_answer.h"

#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "serve/connection.h"
#include "serve/reason.h"
#include "serve/request.h"
#include "serve/stream.h"
#include "serve/worker.h"

#define OWN_BYTES    384 /* what the server itself says in a head, at most */
#define REASON_BYTES 128 /* of the application's own words in it */
_Static_assert(OWN_BYTES <= REQUEST_HEADROOM, "it fits before the handler's own header block");

static const char last_chunk[] = "0\r\n\r\n";

/* -- the head --------------------------------------------------------------------------------------------------------
 */

/* Where the lines of a head go. */
struct text {
    char *at;
};

static inline void put(struct text *text, const char *bytes, size_t length)
{
    memcpy(text->at, bytes, length);
    text->at += length;
}

static inline void put_line(struct text *text, const char *line)
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

/* RFC 9110 section 5.6.7, in no language but its own. */
static size_t print_date(char *line, size_t room, time_t second)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm utc;
    gmtime_r(&second, &utc);
    return (size_t)snprintf(line, room, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[utc.tm_wday], utc.tm_mday,
                            months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/* The line Date with the current second, made once a second in each thread. The clock has been read at the end of the
 * handler's call. */
static void put_date(struct text *text, const struct request *request)
{
    static __thread struct {
        int64_t until_us; /* of the monotonic clock: until the second is over */
        size_t length;
        char line[128];
    } date;
    int64_t now_us = request->handler_us > 0 ? request->started_us + request->handler_us : clock_now_us();
    if (now_us >= date.until_us) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME_COARSE, &now); /* which time(2) tells as well: a client here never sees the future */
        date.length = print_date(date.line, sizeof date.line, now.tv_sec);
        date.until_us = clock_now_us() + CLOCK_SECOND - now.tv_nsec / 1000;
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
    put_status(text, request);
    if (!request->header.has_server)
        put_line(text, "Server: millrace\r\n");
    if (!request->header.has_date)
        put_date(text, request);
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

/* The whole head in memory of its own. Returns false when memory is short. */
static bool make_head(struct request *request, struct text own, struct iovec *head)
{
    size_t own_length = (size_t)(own.at - (char *)head->iov_base);
    char *start = arena_take(&request->arena, own_length + 2 * request->header.blank_at + 2);
    if (start == NULL)
        return false;
    struct text text = {start};
    put(&text, head->iov_base, own_length);
    text.at += cgi_header_copy(&request->header, stream_output_content(request), (uint8_t *)text.at);
    put_line(&text, "\r\n");
    *head = (struct iovec){.iov_base = start, .iov_len = (size_t)(text.at - start)};
    return true;
}

static void put_before(struct iovec *body, const void *bytes, size_t length)
{
    body->iov_base = (uint8_t *)body->iov_base - length;
    body->iov_len += length;
    memcpy(body->iov_base, bytes, length);
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

/* Most handlers' header blocks can stay where they are, with the server's own lines in front. Others are written anew:
 * in front of the body if there is room, else as a piece of their own. */
static bool put_head(struct request *request, bool last, struct iovec to[2])
{
    const struct http *http = &request->connection->http;
    char own[OWN_BYTES];
    struct text text = {own};
    struct iovec head = {.iov_base = own};
    put_own_lines(&text, request);
    CHECK(text.at <= own + sizeof own);
    if (request->header.is_clean && !http->answers_chunks) {
        to[1].iov_base = stream_output_content(request);
        to[1].iov_len += request->header.length;
        put_before(&to[1], own, (size_t)(text.at - own));
        return true;
    }
    if (!make_head(request, text, &head))
        return false;
    if (http->answers_chunks)
        put_chunks(request, &to[1], last); /* may write over what the head was made of */
    if (head.iov_len <= (size_t)((uint8_t *)to[1].iov_base - request->output))
        put_before(&to[1], head.iov_base, head.iov_len);
    else
        to[0] = head;
    return true;
}

void http_answer_frame(struct request *request, size_t header_bytes, size_t body_bytes, bool last, struct iovec to[2])
{
    to[0] = (struct iovec){0};
    to[1] = (struct iovec){.iov_base = stream_output_content(request) + header_bytes, .iov_len = body_bytes};
    if (header_bytes == 0) {
        if (request->connection->http.answers_chunks)
            put_chunks(request, &to[1], last);
        return;
    }
    decide(request, last);
    if (!put_head(request, last, to)) {
        request->cut = true;
        to[0] = to[1] = (struct iovec){0};
    }
}
