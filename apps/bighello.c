/*
 * bighello.c: a page of a usual size, 23,888 bytes, with its "Hello, World" at the end: an answer that lost its end on
 * the way is found out. The page is made once, before the first request: sending it is what is measured.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

#define HEADER                                                                                                         \
    "Content-Type: text/html; charset=utf-8\r\n"                                                                       \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"
#define PAGE_START                                                                                                     \
    "<!DOCTYPE html>\n"                                                                                                \
    "<html lang=\"en\">\n"                                                                                             \
    "<head>\n"                                                                                                         \
    "<meta charset=\"utf-8\">\n"                                                                                       \
    "<title>A big hello</title>\n"                                                                                     \
    "</head>\n"                                                                                                        \
    "<body>\n"                                                                                                         \
    "<h1>A big hello at the end</h1>\n"
#define PARAGRAPH "<p>Paragraph %03d: one of many alike, here only so that this page has the size of a page.</p>\n"
#define PAGE_END                                                                                                       \
    "<p>Hello, World</p>\n"                                                                                            \
    "</body>\n"                                                                                                        \
    "</html>\n"

enum {
    PARAGRAPHS = 255,
    PARAGRAPH_BYTES = sizeof PARAGRAPH - 1 - 1, /* %03d becomes three digits */
    PAGE_BYTES = sizeof PAGE_START - 1 + PARAGRAPHS * PARAGRAPH_BYTES + sizeof PAGE_END - 1,
};
_Static_assert(PAGE_BYTES == 23888, "the page is known as 23,888 bytes everywhere");

struct answer {
    size_t length;
    char bytes[sizeof HEADER + PAGE_BYTES];
};

static void append(struct answer *answer, const char *text)
{
    size_t length = strlen(text);
    memcpy(answer->bytes + answer->length, text, length + 1);
    answer->length += length;
}

static int start(struct mr_route *route)
{
    struct answer *answer = malloc(sizeof *answer);
    char paragraph[PARAGRAPH_BYTES + 1];
    if (answer == NULL) {
        mr_route_log(route, "no memory for the page: %d bytes", (int)sizeof *answer);
        return -1;
    }
    answer->length = 0;
    append(answer, HEADER PAGE_START);
    for (int i = 1; i <= PARAGRAPHS; i++) {
        snprintf(paragraph, sizeof paragraph, PARAGRAPH, i);
        append(answer, paragraph);
    }
    append(answer, PAGE_END);
    mr_route_set_state(route, answer);
    return 0;
}

static void stop(struct mr_route *route)
{
    free(mr_route_state(route));
    mr_route_set_state(route, NULL);
}

static int bighello(FCGX_Request *req)
{
    const struct answer *answer = mr_state(req);
    FCGX_PutStr(answer->bytes, (int)answer->length, req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "bighello", .handle = bighello, .start = start, .stop = stop};
