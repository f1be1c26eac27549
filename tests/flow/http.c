/* http.c: reads answers strictly, more so than a client would: a test of the server, not of the network. */
#include "http.h"

#include <ctype.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "deadline.h"
#include "suite.h"

enum { HTTP_HEAD_MAX = 65536, HTTP_READ_MS = 20000, HTTP_PIECE = 65536, HTTP_CLOCK_S = 3 };

/* -- Connection -----------------------------------------------------------------------------------------------------
 */

/* A failed case leaves its connections to link_free_all, so a link that is still named may be gone. */
void http_open(struct http *http, const char *address)
{
    bytes_clear(&http->input);
    http->taken = 0;
    http->link = link_new(address);
}

void http_close(struct http *http)
{
    link_free(http->link);
    http->link = NULL;
    bytes_fini(&http->input);
    http->taken = 0;
}

void http_send_bytes(struct http *http, const void *data, size_t length)
{
    link_send(http->link, data, length);
}

void http_send(struct http *http, const char *text)
{
    http_send_bytes(http, text, strlen(text));
}

static bool http_is_taken(void *context)
{
    const struct http *http = context;
    struct pollfd one = {.fd = http->link->fd, .events = 0};
    int unread = 0;

    if (poll(&one, 1, 0) == 1) /* hung up */
        return true;
    return ioctl(http->link->fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

void http_wait_taken(struct http *http)
{
    for (int i = 0; i < 200; i++) { /* usually at once */
        if (http_is_taken(http))
            return;
        poll(NULL, 0, 0);
    }
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, http_is_taken, http), "the server does not read");
}

void http_send_cut(struct http *http, const void *data, size_t length, size_t piece)
{
    for (size_t at = 0; at < length; at += piece) {
        size_t part = length - at < piece ? length - at : piece;

        if (link_try_send(http->link, (const char *)data + at, part, DEADLINE_USUAL_MS) != part)
            return;
        http_wait_taken(http);
    }
}

/* Reads more. Anything but HTTP_MORE: nothing has come. */
static enum http_end http_fill(struct http *http, int limit_ms)
{
    static char piece[HTTP_PIECE];
    int64_t end_ms = deadline_now_ms() + limit_ms;

    for (;;) {
        struct pollfd one = {.fd = http->link->fd, .events = POLLIN};
        ssize_t got = recv(http->link->fd, piece, sizeof piece, 0);

        if (got > 0) {
            bytes_add(&http->input, piece, (size_t)got);
            return HTTP_MORE;
        }
        if (got == 0)
            return HTTP_ENDED;
        if (errno != EAGAIN)
            return HTTP_RESET;
        if (poll(&one, 1, deadline_left_ms(end_ms)) != 1)
            return HTTP_OPEN;
    }
}

enum http_end http_end(struct http *http, int limit_ms)
{
    if (http->taken < http->input.length)
        return HTTP_MORE;
    return http_fill(http, limit_ms);
}

static size_t http_unread(const struct http *http)
{
    return http->input.length - http->taken;
}

/* Gives memory back to long answers: what was taken goes. */
static void http_forget(struct http *http)
{
    size_t left = http_unread(http);

    if (http->taken == 0)
        return;
    if (left)
        memmove(http->input.data, http->input.data + http->taken, left);
    http->input.length = left;
    http->taken = 0;
}

static void http_need(struct http *http, const char *what)
{
    static const char *const ends[] = {
        [HTTP_ENDED] = "the connection ended", [HTTP_RESET] = "the connection was reset", [HTTP_OPEN] = "nothing came"};
    enum http_end end;

    http_forget(http);
    end = http_fill(http, HTTP_READ_MS);
    SUITE_CHECK(end == HTTP_MORE, "%s in %s; %zu bytes so far: '%.100s'", ends[end], what, http_unread(http),
                bytes_text(&http->input) + http->taken);
}

static void http_take(struct http *http, struct bytes *to, size_t length, const char *what)
{
    while (length > 0) {
        size_t part = http_unread(http);

        if (part == 0) {
            http_need(http, what);
            continue;
        }
        part = part < length ? part : length;
        bytes_add(to, http->input.data + http->taken, part);
        http->taken += part;
        length -= part;
    }
}

/* One line with its CR LF, which is the only CR and the only LF in it. */
static void http_take_line(struct http *http, struct bytes *to, const char *what)
{
    size_t start = to->length;

    do {
        http_take(http, to, 1, what);
        SUITE_CHECK(to->length < HTTP_HEAD_MAX, "%s without end", what);
    } while (to->data[to->length - 1] != '\n');
    SUITE_CHECK(to->length - start >= 2 && to->data[to->length - 2] == '\r', "%s: a line that ends with LF alone",
                what);
    SUITE_CHECK(!memchr(to->data + start, '\r', to->length - start - 2) &&
                    !memchr(to->data + start, 0, to->length - start),
                "%s: a CR or NUL within a line", what);
}

/* -- Head -----------------------------------------------------------------------------------------------------------
 */

static const char *http_next_line(const char *line)
{
    return strstr(line, "\r\n") + 2;
}

static bool http_names(const char *line, const char *name)
{
    return strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':';
}

/* The last value goes to `value`. Returns how many lines have the name. */
static int http_find_field(struct http_answer *answer, const char *name, char *value, size_t room)
{
    int count = 0;

    for (const char *line = http_next_line(bytes_text(&answer->head)); *line; line = http_next_line(line)) {
        if (!http_names(line, name))
            continue;
        count++;
        line += strlen(name) + 1;
        line += strspn(line, " ");
        snprintf(value, room, "%.*s", (int)strcspn(line, "\r"), line);
    }
    return count;
}

const char *http_field(struct http_answer *answer, const char *name)
{
    static char value[1024];
    int count = http_find_field(answer, name, value, sizeof value);

    SUITE_CHECK(count <= 1, "%s is there %d times: %.300s", name, count, bytes_text(&answer->head));
    return count ? value : NULL;
}

static void http_check_names(struct http_answer *answer)
{
    const char *line = http_next_line(bytes_text(&answer->head));

    for (; *line != '\r'; line = http_next_line(line)) {
        size_t length = strcspn(line, ":\r");

        SUITE_CHECK(length > 0 && line[length] == ':', "a line that is no field: %.60s", line);
        for (size_t i = 0; i < length; i++)
            SUITE_CHECK(isalnum((unsigned char)line[i]) || strchr("!#$%&'*+-.^_`|~", line[i]), "a bad name: %.60s",
                        line);
    }
}

static void http_check_date(struct http_answer *answer)
{
    const char *text = http_field(answer, "Date");
    char again[64];
    struct tm parts = {0};
    time_t now = time(NULL), then;

    SUITE_CHECK(text && strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts), "Date: %s", text ? text : "none");
    then = timegm(&parts);
    strftime(again, sizeof again, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    SUITE_CHECK(strcmp(text, again) == 0, "Date: %s", text);
    SUITE_CHECK(then <= now && then >= now - HTTP_CLOCK_S - (time_t)(HTTP_READ_MS / 1000), "Date: %s, %ld s off", text,
                (long)(now - then));
}

static void http_read_status_line(struct http_answer *answer)
{
    const char *line = bytes_text(&answer->head);

    SUITE_CHECK(strncmp(line, "HTTP/1.1 ", 9) == 0 && strspn(line + 9, "0123456789") == 3 && line[12] == ' ',
                "a status line: %.60s", line);
    answer->status = atoi(line + 9);
}

/* RFC 9112 section 6.3: where the body ends. */
static enum http_framing http_frame(struct http_answer *answer, bool to_head, size_t *length)
{
    const char *coding = http_field(answer, "Transfer-Encoding"), *text;
    bool chunked = coding != NULL;

    SUITE_CHECK(!coding || strcmp(coding, "chunked") == 0, "Transfer-Encoding: %s", coding);
    text = http_field(answer, "Content-Length");
    SUITE_CHECK(!text || (*text && text[strspn(text, "0123456789")] == '\0'), "Content-Length: %s", text);
    SUITE_CHECK(!text || !chunked, "Content-Length and Transfer-Encoding");
    if (answer->status < 200 || answer->status == 204)
        SUITE_CHECK(!text && !chunked, "%d with the length of a body: %.200s", answer->status,
                    bytes_text(&answer->head));
    if (to_head || answer->status < 200 || answer->status == 204 || answer->status == 304)
        return HTTP_NO_BODY;
    *length = text ? strtoul(text, NULL, 10) : 0;
    return chunked ? HTTP_CHUNKED : text ? HTTP_LENGTH : HTTP_TO_THE_END;
}

static void http_read_fields(struct http_answer *answer, struct http *http)
{
    size_t before;

    bytes_clear(&answer->head);
    do {
        before = answer->head.length;
        http_take_line(http, &answer->head, "the head of an answer");
    } while (answer->head.length - before > 2);
    http_read_status_line(answer);
    http_check_names(answer);
}

/* -- Body -----------------------------------------------------------------------------------------------------------
 */

static void http_read_chunks(struct http_answer *answer, struct http *http)
{
    struct bytes line = {0};
    unsigned long length;

    do {
        char *end;

        bytes_clear(&line);
        http_take_line(http, &line, "the size of a chunk");
        length = strtoul(bytes_text(&line), &end, 16);
        SUITE_CHECK(isxdigit(line.data[0]) && strcmp(end, "\r\n") == 0, "a chunk size: %.60s", bytes_text(&line));
        http_take(http, &answer->body, length, "a chunk");
        bytes_clear(&line);
        http_take_line(http, &line, "the end of a chunk");
        SUITE_CHECK(line.length == 2, "a chunk that does not end: %.60s", bytes_text(&line));
    } while (length > 0);
    bytes_fini(&line);
}

static void http_read_to_the_end(struct http_answer *answer, struct http *http)
{
    enum http_end end;

    do {
        http_take(http, &answer->body, http_unread(http), "a body");
        http_forget(http);
        end = http_fill(http, HTTP_READ_MS);
    } while (end == HTTP_MORE);
    SUITE_CHECK(end == HTTP_ENDED, "no end of a body after %zu bytes", answer->body.length);
}

static void http_read_any(struct http_answer *answer, struct http *http, bool to_head)
{
    const char *text;
    size_t length = 0;

    answer->interim_count = -1;
    do {
        answer->interim_count++;
        http_read_fields(answer, http);
    } while (answer->status == 100);
    SUITE_CHECK(answer->status >= 200 && answer->status <= 599, "status %d", answer->status);
    http_check_date(answer);
    text = http_field(answer, "Server");
    SUITE_CHECK(text && *text, "no Server: %.200s", bytes_text(&answer->head));
    text = http_field(answer, "Connection");
    answer->closes = text && strcasecmp(text, "close") == 0;
    answer->framing = http_frame(answer, to_head, &length);
    bytes_clear(&answer->body);
    if (answer->framing == HTTP_LENGTH)
        http_take(http, &answer->body, length, "a body");
    else if (answer->framing == HTTP_CHUNKED)
        http_read_chunks(answer, http);
    else if (answer->framing == HTTP_TO_THE_END)
        http_read_to_the_end(answer, http);
}

/* -- Answers --------------------------------------------------------------------------------------------------------
 */

void http_read(struct http_answer *answer, struct http *http)
{
    http_read_any(answer, http, false);
}

void http_read_head(struct http_answer *answer, struct http *http)
{
    http_read_any(answer, http, true);
}

void http_read_continue(struct http *http)
{
    struct bytes lines = {0};

    http_take_line(http, &lines, "100 Continue");
    http_take_line(http, &lines, "100 Continue");
    SUITE_CHECK(strcmp(bytes_text(&lines), "HTTP/1.1 100 Continue\r\n\r\n") == 0, "an interim answer: %.80s",
                bytes_text(&lines));
    bytes_fini(&lines);
}

void http_fini(struct http_answer *answer)
{
    bytes_fini(&answer->head);
    bytes_fini(&answer->body);
}

void http_ask(struct http_answer *answer, const char *address, const char *text)
{
    static struct http http;

    http_open(&http, address);
    http_send(&http, text);
    http_read_any(answer, &http, strncmp(text, "HEAD ", 5) == 0);
    http_close(&http);
}

void http_check_closes(struct http_answer *answer, struct http *http, const char *what)
{
    enum http_end end = http_end(http, DEADLINE_USUAL_MS);

    SUITE_CHECK(answer->closes, "%s: no Connection: close in %.300s", what, bytes_text(&answer->head));
    SUITE_CHECK(end != HTTP_MORE, "%s: more after the answer: %.100s", what, bytes_text(&http->input) + http->taken);
    SUITE_CHECK(end == HTTP_ENDED, "%s: the connection %s", what, end == HTTP_OPEN ? "stays open" : "was reset");
}

const char *http_timeless_head(struct http_answer *answer)
{
    static char text[HTTP_HEAD_MAX];
    char *date;

    snprintf(text, sizeof text, "%s", bytes_text(&answer->head));
    date = strstr(text, "\r\nDate: ");
    if (date)
        memset(date + 8, '-', strcspn(date + 8, "\r"));
    return text;
}

bool http_body_is(struct http_answer *answer, const char *text)
{
    return answer->body.length == strlen(text) && memcmp(bytes_text(&answer->body), text, strlen(text)) == 0;
}

const char *http_variable(struct http_answer *answer, const char *name)
{
    const char *at = bytes_text(&answer->body), *end = at + answer->body.length;

    for (; at < end; at += strlen(at) + 1) {
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '=')
            return at + strlen(name) + 1;
    }
    return NULL;
}

bool http_has_variable(struct http_answer *answer, const char *pair)
{
    const char *at = bytes_text(&answer->body), *end = at + answer->body.length;

    for (; at < end; at += strlen(at) + 1) {
        if (strcmp(at, pair) == 0)
            return true;
    }
    return false;
}
