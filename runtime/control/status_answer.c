/*
 * status_answer.c: takes a snapshot, has it printed, and puts a head before it. Runs in the status process.
 */
#include "control/status_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "control/rates.h"
#include "control/status_page.h"

#define NONCE_BYTES 33 /* 128 bits in hexadecimal */

static const char *reason_of(int code)
{
    static const struct {
        int code;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {400, "Bad Request"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {414, "URI Too Long"},
                   {431, "Request Header Fields Too Large"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return "Service Unavailable";
}

static const char *type_of(int code, enum status_resource resource)
{
    static const char *const types[] = {
        [STATUS_PAGE] = "text/html; charset=utf-8",
        [STATUS_JSON] = "application/json",
        [STATUS_METRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [STATUS_TEXT] = "text/plain; charset=utf-8",
        [STATUS_HEALTH] = "text/plain; charset=utf-8",
    };
    return types[code == 200 ? resource : STATUS_TEXT];
}

static bool is_serving(const struct snapshot *snapshot)
{
    for (int i = 0; i < snapshot->worker_count; i++)
        if (snapshot->workers[i].state == SCOREBOARD_SERVING && snapshot->workers[i].generation == snapshot->generation)
            return true;
    return false;
}

/* What the page's own script and style are known by, to a browser that is told to use no other. */
static void make_nonce(char nonce[NONCE_BYTES])
{
    uint64_t random[2] = {0};
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random[0] = (uint64_t)clock_now_us();
    snprintf(nonce, NONCE_BYTES, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static int print_health(FILE *to, const struct snapshot *snapshot)
{
    bool serving = is_serving(snapshot);
    fputs(serving ? "ok\n" : "no worker is serving\n", to);
    return serving ? 200 : 503;
}

/* Returns the status. */
static int print_resource(FILE *to, enum status_resource resource, const struct snapshot_source *source,
                          const char *nonce)
{
    struct snapshot snapshot;
    int code = 200;
    if (snapshot_take(&snapshot, source) < 0) {
        fputs("no memory for an answer\n", to);
        return 503;
    }
    rates_add(&snapshot);
    switch (resource) {
    case STATUS_PAGE:
        status_page_print(to, &snapshot, nonce);
        break;
    case STATUS_JSON:
        status_json_print(to, &snapshot);
        break;
    case STATUS_METRICS:
        status_metrics_print(to, &snapshot);
        break;
    case STATUS_TEXT:
        status_text_print(to, &snapshot);
        break;
    case STATUS_HEALTH:
        code = print_health(to, &snapshot);
        break;
    }
    snapshot_fini(&snapshot);
    return code;
}

static void print_head(FILE *to, int code, const char *type, size_t body_length, const char *nonce)
{
    fprintf(to,
            "HTTP/1.1 %d %s\r\n"
            "Content-Type: %s\r\n"
            "Content-Length: %zu\r\n"
            "Connection: close\r\n"
            "Cache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Referrer-Policy: no-referrer\r\n"
            "Content-Security-Policy: default-src 'none'; style-src 'nonce-%s'; script-src 'nonce-%s'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
            code, reason_of(code), type, body_length, nonce, nonce);
    if (code == 405)
        fputs("Allow: GET, HEAD\r\n", to);
    fputs("\r\n", to);
}

/* The body's length stands before it, so it is printed first. Returns the body, owned by the caller, or NULL. */
static char *print_body(const struct status_request *request, const struct snapshot_source *source, const char *nonce,
                        int *code, size_t *length)
{
    char *body = NULL;
    FILE *to = open_memstream(&body, length);
    if (to == NULL)
        return NULL;
    *code = request->status;
    if (*code == 200)
        *code = print_resource(to, request->resource, source, nonce);
    else
        fprintf(to, "%d %s\n", *code, reason_of(*code));
    bool complete = ferror(to) == 0;
    if (fclose(to) == 0 && complete)
        return body;
    free(body);
    return NULL;
}

char *status_answer_make(const struct status_request *request, const struct snapshot_source *source, size_t *length)
{
    char nonce[NONCE_BYTES], *answer = NULL;
    size_t body_length;
    int code;
    make_nonce(nonce);
    char *body = print_body(request, source, nonce, &code, &body_length);
    FILE *to = body == NULL ? NULL : open_memstream(&answer, length);
    if (to == NULL) {
        free(body);
        return NULL;
    }
    print_head(to, code, type_of(code, request->resource), body_length, nonce);
    if (!request->head)
        fwrite(body, 1, body_length, to);
    free(body);
    bool complete = ferror(to) == 0;
    if (fclose(to) == 0 && complete)
        return answer;
    free(answer);
    return NULL;
}
