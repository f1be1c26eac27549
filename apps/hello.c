/*
 * hello.c: the smallest page: what a request costs when the application does next to nothing.
 */
#include <millrace.h>

/* Header and page are one piece, so that an answer is one copy. */
#define HEADER                                                                                                         \
    "Content-Type: text/html; charset=utf-8\r\n"                                                                       \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"
#define PAGE                                                                                                           \
    "<!DOCTYPE html>\n"                                                                                                \
    "<html lang=\"en\">\n"                                                                                             \
    "<head>\n"                                                                                                         \
    "<meta charset=\"utf-8\">\n"                                                                                       \
    "<title>Hello</title>\n"                                                                                           \
    "</head>\n"                                                                                                        \
    "<body>\n"                                                                                                         \
    "<h1>Hello, World</h1>\n"                                                                                          \
    "<p>This page comes from a compiled application. The web server in front of it knows only its address: it\n"       \
    "passes each request on over a kept FastCGI connection, a ready thread calls one C function, and what that\n"      \
    "function writes is what you read here.</p>\n"                                                                     \
    "<p>It does not change: only the way to it is measured.</p>\n"                                                     \
    "</body>\n"                                                                                                        \
    "</html>\n"

static const char answer[] = HEADER PAGE;
_Static_assert(sizeof PAGE - 1 == 450, "the page is known as 450 bytes everywhere");

static int hello(FCGX_Request *req)
{
    FCGX_PutStr(answer, sizeof answer - 1, req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "hello", .handle = hello};
