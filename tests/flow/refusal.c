/* refusal.c: what is refused is refused whole. */
#include "refusal.h"

#include <stdio.h>
#include <string.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

static const char refusal_marker[] = "GET /params?marker HTTP/1.1\r\nHost: marker\r\n\r\n";

static struct http_answer refusal_answer;

static void refusal_check_status(const char *name, int wanted)
{
    int status = refusal_answer.status;
    char title[32];

    SUITE_CHECK(status == wanted || (wanted == REFUSAL_400_OR_501 && (status == 400 || status == 501)) ||
                    (wanted == REFUSAL_400_OR_413 && (status == 400 || status == 413)),
                "%s: status %d: %.200s", name, status, bytes_text(&refusal_answer.body));
    snprintf(title, sizeof title, "<h1>%d ", status);
    SUITE_CHECK(strstr(bytes_text(&refusal_answer.body), title), "%s: the page says %.100s", name,
                bytes_text(&refusal_answer.body));
    SUITE_CHECK(http_field(&refusal_answer, "Content-Type") &&
                    strncmp(http_field(&refusal_answer, "Content-Type"), "text/html", 9) == 0,
                "%s: Content-Type of %.200s", name, bytes_text(&refusal_answer.head));
}

static void refusal_check_answer(struct http *http, const char *name, int wanted)
{
    http_read(&refusal_answer, http);
    refusal_check_status(name, wanted);
    http_check_closes(&refusal_answer, http, name);
    http_close(http);
}

void refusal_check_bytes(const char *name, const void *bytes, size_t length, int status)
{
    static struct http http;

    http_open(&http, direct_address());
    link_try_send(http.link, bytes, length, DEADLINE_USUAL_MS);
    refusal_check_answer(&http, name, status);
}

static void refusal_check_one(const struct refusal *refusal)
{
    static struct http http;
    static struct bytes all;
    size_t length = refusal->length ? refusal->length : strlen(refusal->bytes);

    bytes_clear(&all);
    bytes_add(&all, refusal->bytes, length);
    bytes_add(&all, refusal_marker, strlen(refusal_marker));
    refusal_check_bytes(refusal->name, all.data, all.length, refusal->status);
    for (size_t piece = 1; piece <= 8; piece += 7) {
        http_open(&http, direct_local());
        http_send_cut(&http, all.data, all.length, piece);
        refusal_check_answer(&http, refusal->name, refusal->status);
    }
}

void refusal_check(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refusal_check_one(&refusals[i]);
}
