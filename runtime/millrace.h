/*
 * millrace.h: the application contract.
 *
 * An application is a C file that includes this header and exports one `struct mr_app` named `mr_app`; it is built
 * as a shared object and named in the configuration. Its handler reads and writes the request with libfcgi's own
 * calls (fcgiapp.h): FCGX_GetParam, FCGX_GetStr, FCGX_PutS, ... on req->envp, req->in, req->out and req->err.
 * Output follows RFC 3875 section 6: header lines, an optional `Status:` line among them, a blank line, the body.
 *
 * Threads: handlers of one worker run on many threads at once, each request on one thread; several workers are
 * separate processes. Everything reachable through `req` belongs to the request and ends when the handler returns.
 *
 * The runtime owns the request: FCGX_Accept, FCGX_Finish and their kin abort with a message when a handler calls them.
 */
#ifndef MILLRACE_H
#define MILLRACE_H

#ifdef _FCGI_STDIO
#error "fcgi_stdio.h replaces stdio and cannot be used in a Millrace application: write to req->out with FCGX_ calls"
#endif

#include <stddef.h>
#include <stdint.h>

#include <fcgiapp.h>

#ifdef __GNUC__
#pragma GCC poison FCGI_Accept FCGI_ToFILE FCGI_fopen
#define MR_PRINTF_LIKE(text, first) __attribute__((__format__(__printf__, text, first)))
#define MR_MUST_CHECK __attribute__((warn_unused_result))
#define MR_PUBLIC __attribute__((visibility("default")))
#else
#define MR_PRINTF_LIKE(text, first)
#define MR_MUST_CHECK
#define MR_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Fills the first two members of struct mr_app, `abi` and `size`: an application built against a newer or an
 * incompatible header is refused when it is loaded, an older one of the same ABI is served. */
#define MR_ABI_VERSION 1
#define MR_ABI MR_ABI_VERSION, .size = sizeof(struct mr_app)

/* One `app` block of the configuration inside one worker. */
struct mr_route;

struct mr_app {
    uint32_t abi;
    uint32_t size;
    const char *name; /* for the log; not NULL */

    /* Answers one request. Returns the application status (END_REQUEST appStatus, 0 when all went well); a handler
     * that wrote nothing is answered with 500. May block: other requests go on meanwhile on other threads. */
    int (*handle)(FCGX_Request *req);

    /* Optional. Called once for each route in each worker, before its first request, on one thread.
     * Returns 0; anything else means that the server cannot start (say why with mr_route_log). */
    int (*start)(struct mr_route *route);

    /* Optional. Called once after the worker's last request, when start returned 0. */
    void (*stop)(struct mr_route *route);
};

extern MR_PUBLIC const struct mr_app mr_app;

/* -- Answering ------------------------------------------------------------------------------------------------- */

/* Writes formatted text with the C library's own conversions (FCGX_FPrintF does not know %zu or %jd).
 * Returns the number of bytes written, -1 when the stream is closed. Blocks when the client reads slowly. */
MR_PUBLIC int mr_printf(FCGX_Stream *out, const char *format, ...) MR_PRINTF_LIKE(2, 3);

/* Writes one header line. Returns 0. Returns -1 and turns the answer into a 500 when the name is no token
 * (RFC 9110 section 5.6.2) or the value holds CR, LF or another control character, NULL included: use it for
 * everything that came from outside. */
MR_PUBLIC int mr_header(FCGX_Request *req, const char *name, const char *value);

/* Writes `length` bytes of text as HTML: & < > " ' become character references, all other bytes pass unchanged.
 * Returns 0, -1 when the stream is closed. */
MR_PUBLIC int mr_html(FCGX_Stream *out, const char *text, size_t length);

/* Returns 1 when nobody waits for the answer any more: the front end has aborted the request, or closed its end of the
 * connection (nginx does when its client leaves); over HTTP, the client's connection was reset, since one that is only
 * half closed still waits; else 0. A handler that works for long asks now and then and returns.
 * Never blocks; costs a system call. The handler's own thread. After an abort writes fail at the next full buffer or flush,
 * and what the handler has not written by then is not sent. Not seen: an abort behind more than 32 KiB of a body that
 * the handler has not read. */
MR_PUBLIC int mr_client_gone(FCGX_Request *req);

/* The milliseconds that are left of the route's request_timeout: rounded up, 0 when it has passed, INT_MAX when there is no
 * limit, so that it fits poll(2). What the handler has waited for its client to send or to read is not counted. Nothing
 * happens to the handler when the time is over but a line in the log; one that goes on for request_grace more costs its
 * worker. Never blocks. The handler's own thread. */
MR_PUBLIC int mr_deadline_ms(const FCGX_Request *req);

/* -- Configuration and state ----------------------------------------------------------------------------------- */

/* The value of one entry of the route's `options` block, NULL when it is not set.
 * Owned by the runtime, unchanged for the worker's life. Any thread. */
MR_PUBLIC const char *mr_option(const FCGX_Request *req, const char *name);
MR_PUBLIC const char *mr_route_option(const struct mr_route *route, const char *name);

/* A pointer that start() left for the handlers of its route, NULL before. The application guards what it points to. */
MR_PUBLIC void *mr_state(const FCGX_Request *req);
MR_PUBLIC void *mr_route_state(const struct mr_route *route);
MR_PUBLIC void mr_route_set_state(struct mr_route *route, void *state);

/* -- Logging --------------------------------------------------------------------------------------------------- */

/* One line in the server's log, tagged with process, thread, request and route. Control characters are escaped; a
 * line is at most 2,000 bytes. A text that repeats the one before within a second is counted instead, whichever
 * request it comes from: put something into it that differs. errno is left alone. Any thread. For the front end's
 * error log write to req->err. */
MR_PUBLIC void mr_log(const FCGX_Request *req, const char *format, ...) MR_PRINTF_LIKE(2, 3);
MR_PUBLIC void mr_route_log(const struct mr_route *route, const char *format, ...) MR_PRINTF_LIKE(2, 3);

#ifdef __cplusplus
}
#endif

#endif
