/*
 * fuzz_http.c: libFuzzer entry for a whole HTTP connection: heads, bodies and chunks in any cut, pipelined, with a
 * PROXY header or X-Forwarded lines in front, a handler that reads its body in several ways, the answers.
 *
 * The answers must be well-formed, one for each call of the handler, in order; then at most one more, after which the
 * connection ends. Where the cut may not matter the same input is served again whole, and must be answered in the same
 * way.
 *
 * The first byte says how the input is cut, the second what the handler does, the third whose connection it is.
 */
#include <stdlib.h>

#include "base/check.h"
#include "serve/token.h"
#include "serving.h"

#define OUTPUT_MAX  (8 << 20) /* what is answered beyond that is not looked at */
#define CALLS_MAX   8192
#define COMPARE_MAX 60000 /* a longer body may be looked at by the server, or by the handler */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct output {
    uint8_t *bytes;
    size_t length;
    bool is_cut;
    int call_count;
    bool is_head[CALLS_MAX]; /* the method of each call */
};

static struct output first, second, *current;

static void keep_sent(struct span bytes)
{
    if (current->bytes == NULL)
        CHECK((current->bytes = malloc(OUTPUT_MAX)) != NULL);
    current->is_cut = current->is_cut || bytes.length > OUTPUT_MAX - current->length;
    if (current->is_cut)
        return;
    memcpy(current->bytes + current->length, bytes.at, bytes.length);
    current->length += bytes.length;
}

static void keep_call(const FCGX_Request *req)
{
    const char *method = FCGX_GetParam("REQUEST_METHOD", req->envp), *script = FCGX_GetParam("SCRIPT_NAME", req->envp);
    const char *info = FCGX_GetParam("PATH_INFO", req->envp);
    CHECK(method != NULL && token_is_token(span_text(method)));
    CHECK(script != NULL && strcmp(script, "/") == 0 && info != NULL && info[0] == '/' && strstr(info, "//") == NULL);
    CHECK(strstr(info, "/../") == NULL && strstr(info, "/./") == NULL);
    CHECK(FCGX_GetParam("REMOTE_ADDR", req->envp) != NULL && FCGX_GetParam("HTTP_PROXY", req->envp) == NULL);
    if (current->call_count < CALLS_MAX)
        current->is_head[current->call_count] = strcmp(method, "HEAD") == 0;
    current->call_count++;
}

/* -- reading answers --------------------------------------------------------------------------------------------------
 */

/* Returns the line without its CRLF. */
static struct span take_line(struct span *rest)
{
    const uint8_t *end = memchr(rest->at, '\n', rest->length);
    CHECK(end != NULL && end > rest->at && end[-1] == '\r');
    struct span line = span_take(rest, (size_t)(end - rest->at) + 1);
    line.length -= 2;
    CHECK(memchr(line.at, '\r', line.length) == NULL && token_is_value(line));
    return line;
}

struct head {
    int status;
    int64_t content_length;
    int length_count, chunked_count, close_count, date_count;
};

static void read_field(struct head *head, struct span line)
{
    struct span name = span_of(line.at, token_length(line));
    CHECK(name.length > 0 && name.length < line.length && line.at[name.length] == ':');
    struct span value = token_trim(span_of(line.at + name.length + 1, line.length - name.length - 1));
    if (span_is(name, "Content-Length")) {
        head->length_count++;
        head->content_length = span_number(value);
        CHECK(head->content_length >= 0);
    } else if (span_is(name, "Transfer-Encoding")) {
        head->chunked_count += span_is(value, "chunked");
        CHECK(span_is(value, "chunked"));
    } else if (span_is(name, "Connection")) {
        head->close_count += span_is(value, "close");
        CHECK(span_is(value, "close") || span_is(value, "keep-alive"));
    }
    head->date_count += span_is(name, "Date");
}

static struct head read_head(struct span *rest)
{
    struct head head = {.content_length = -1};
    struct span line = take_line(rest);
    CHECK(line.length >= 13 && memcmp(line.at, "HTTP/1.1 ", 9) == 0 && line.at[12] == ' ');
    head.status = (int)span_number(span_of(line.at + 9, 3));
    CHECK(head.status >= 100 && head.status <= 599);
    while ((line = take_line(rest)).length > 0)
        read_field(&head, line);
    if (head.status == 100) {
        CHECK(head.length_count + head.chunked_count + head.close_count + head.date_count == 0);
        return head;
    }
    CHECK(head.length_count + head.chunked_count <= 1 && head.date_count == 1 && head.close_count <= 1);
    return head;
}

static void skip(struct span *rest, int64_t length)
{
    CHECK(length >= 0 && (uint64_t)length <= rest->length);
    span_take(rest, (size_t)length);
}

static void read_chunks(struct span *rest)
{
    for (;;) {
        struct span line = take_line(rest);
        int64_t size = 0;
        CHECK(line.length > 0 && line.length < 8);
        for (size_t i = 0; i < line.length; i++) {
            CHECK(token_hex(line.at[i]) >= 0);
            size = size << 4 | token_hex(line.at[i]);
        }
        skip(rest, size);
        CHECK(take_line(rest).length == 0);
        if (size == 0)
            return;
    }
}

static void read_body(struct span *rest, const struct head *head, bool has_call, bool is_head)
{
    if (has_call && is_head)
        return;
    CHECK(head->length_count + head->chunked_count == 1 ||
          head->close_count == 1); /* else nobody knows where it ends */
    if (!has_call && rest->length == 0)
        return; /* HEAD, perhaps */
    if (head->chunked_count > 0)
        read_chunks(rest);
    else if (head->length_count > 0)
        skip(rest, head->content_length);
    else
        skip(rest, (int64_t)rest->length);
}

static void check_answers(const struct output *output)
{
    struct span rest = span_of(output->bytes, output->length);
    int count = 0;
    bool closed = false;
    while (rest.length > 0) {
        CHECK(!closed); /* nothing comes behind the last */
        struct head head = read_head(&rest);
        if (head.status == 100)
            continue;
        bool has_call = count < output->call_count;
        CHECK(has_call || head.close_count > 0); /* what no handler answers is the last */
        read_body(&rest, &head, has_call, has_call && count < CALLS_MAX && output->is_head[count]);
        closed = head.close_count > 0;
        count++;
    }
    CHECK(count >= output->call_count && count <= output->call_count + 1);
}

/* -- the same again ---------------------------------------------------------------------------------------------------
 */

/* The next line that does not depend on the time. */
static bool next_line(struct span *rest, struct span *line)
{
    do {
        if (rest->length == 0)
            return false;
        const uint8_t *end = memchr(rest->at, '\n', rest->length);
        *line = span_take(rest, end == NULL ? rest->length : (size_t)(end - rest->at) + 1);
    } while (line->length > 6 && memcmp(line->at, "Date: ", 6) == 0);
    return true;
}

static void check_same(void)
{
    struct span a = span_of(first.bytes, first.length), b = span_of(second.bytes, second.length), line, other;
    bool more;
    CHECK(first.call_count == second.call_count);
    do {
        more = next_line(&a, &line);
        CHECK(more == next_line(&b, &other));
        CHECK(!more || (line.length == other.length && memcmp(line.at, other.at, line.length) == 0));
    } while (more);
}

static bool mentions(struct span text, const char *word)
{
    return memmem(text.at, text.length, word, strlen(word)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const sa_family_t families[] = {AF_INET, AF_INET6, AF_UNIX};
    if (size < 4)
        return 0;
    struct serving serving = {
        .letter = 'h',
        .input = span_of(data + 3, size - 3),
        .part = serving_part(data[0] & 0x7f, size),
        .pause = data[0] & 0x80,
        .behaviour = data[1],
        .peer.sa_family = families[data[2] % 3],
        .on_call = keep_call,
        .on_sent = keep_sent,
    };
    current = &first;
    first.length = 0;
    first.call_count = 0;
    first.is_cut = false;
    serving_run(&serving);
    if (first.is_cut)
        return 0;
    check_answers(&first);
    /* Whether a body is asked for with 100 depends on what has come with the head. */
    if (size > COMPARE_MAX || mentions(serving.input, "xpect") || mentions(serving.input, "XPECT"))
        return 0;
    current = &second;
    second.length = 0;
    second.call_count = 0;
    second.is_cut = false;
    serving.part = size;
    serving.pause = false;
    serving_run(&serving);
    check_same();
    return 0;
}
