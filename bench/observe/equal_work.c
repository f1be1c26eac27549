/* equal_work.c: what a server's answer looks like on the wire; see equal_work.h. */
#include "observe/equal_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/check.h"
#include "load/load_options.h"
#include "load/load_url.h"
#include "load/reply.h"
#include "words.h"

#define HEAD_BYTES  65536
#define PIECE_BYTES 65536
#define TIMEOUT_S   10

/* The head of one answer, and what came of it. */
struct answer {
    struct response_head about;
    uint64_t body_bytes;
    char head[HEAD_BYTES];
    size_t head_bytes;
};

/* Returns NULL, or why it is no connection (constant text). */
static const char *open_connection(const struct load_url *url, int *fd)
{
    struct sockaddr_storage address;
    socklen_t length;
    const struct timeval limit = {.tv_sec = TIMEOUT_S};
    const char *why = load_url_resolve(url, &address, &length);
    if (why != NULL)
        return why;
    *fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
        connect(*fd, (const struct sockaddr *)&address, length) < 0)
        return strerror(errno);
    return NULL;
}

static void keep_head(struct answer *answer, const uint8_t *bytes, size_t count)
{
    size_t room = sizeof answer->head - answer->head_bytes;
    count = count < room ? count : room;
    memcpy(answer->head + answer->head_bytes, bytes, count);
    answer->head_bytes += count;
}

/* Returns NULL, or what is wrong with the answer (constant text). */
static const char *ask(int fd, const char *request, struct answer *answer)
{
    uint8_t piece[PIECE_BYTES];
    struct reply reply = {0};
    enum response_result result = RESPONSE_MORE;
    *answer = (struct answer){0};
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
        return "the request cannot be sent";
    while (result == RESPONSE_MORE) {
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        struct span input = span_of(piece, got > 0 ? (size_t)got : 0);
        if (got > 0)
            keep_head(answer, piece, (size_t)got);
        result = got > 0 ? reply_feed(&reply, &input, false) : got == 0 ? reply_end(&reply) : RESPONSE_BAD;
        if (got == 0 && result == RESPONSE_MORE)
            result = RESPONSE_BAD;
    }
    answer->about = reply.head;
    answer->body_bytes = reply.body.length;
    reply_fini(&reply);
    if (answer->head_bytes > answer->about.head_bytes)
        answer->head_bytes = answer->about.head_bytes;
    return result == RESPONSE_DONE ? NULL : "its answer is not whole, or no HTTP";
}

/* The head as text; a Date is replaced, since nothing else of it changes from one answer to the next. */
static char *head_text(const struct answer *answer)
{
    char *text = strndup(answer->head, answer->head_bytes), *out = text;
    CHECK(text != NULL);
    char *rest = strdup(text), *copy = rest, *line;
    CHECK(rest != NULL);
    while ((line = strsep(&rest, "\n")) != NULL) {
        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0')
            continue;
        if (strncasecmp(line, "date:", 5) == 0)
            strcpy(line, "Date:");
        out = stpcpy(stpcpy(out, line), "\n");
    }
    *out = '\0';
    free(copy);
    return text;
}

static const char *framing_name(enum response_framing framing)
{
    static const char *const names[] = {"none", "Content-Length", "chunked", "until the connection ends"};
    return names[framing];
}

static json_t *card_of(const struct answer *answer, bool kept)
{
    char *text = head_text(answer), version[4] = "";
    if (answer->head_bytes > 8)
        memcpy(version, answer->head + 5, 3);
    json_t *headers = json_string(text);
    json_t *card = json_pack("{s:I, s:I, s:o, s:s, s:i, s:b, s:s}", "header_bytes",
                             (json_int_t)answer->about.head_bytes, "body_bytes", (json_int_t)answer->body_bytes,
                             "headers", headers ? headers : json_null(), "http_version", version, "status",
                             answer->about.status, "keep_alive", kept, "framing", framing_name(answer->about.framing));
    free(text);
    return card;
}

static json_t *failure(const char *why)
{
    return json_pack("{s:s}", "failed", why);
}

json_t *equal_work_card(const char *text)
{
    const struct load_options options = {.method = "GET"};
    struct load_url url;
    struct answer *first = malloc(sizeof *first), *second = malloc(sizeof *second);
    int fd = -1;
    CHECK(first != NULL && second != NULL);
    const char *why = load_url_parse(&url, text);
    if (why == NULL)
        why = open_connection(&url, &fd);
    char *request = why == NULL ? load_url_request(&url, &options) : NULL;
    if (why == NULL)
        why = ask(fd, request, first);
    bool kept = why == NULL && first->about.keep_alive && ask(fd, request, second) == NULL;
    json_t *card = why == NULL ? card_of(first, kept) : failure(why);
    if (fd >= 0)
        close(fd);
    free(request);
    free(first);
    free(second);
    return card;
}
