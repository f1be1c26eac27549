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

/* The same on one lane, one of the event loops of the worker. */
struct mr_lane;

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

    /* Optional. As start and stop, for each lane that serves the route: between those two, before the lane's first request
     * and after its last one, on one thread. */
    int (*lane_start)(struct mr_lane *lane);
    void (*lane_stop)(struct mr_lane *lane);
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

/* -- Asking -------------------------------------------------------------------------------------------------------- */

/* The whole body, with a NUL behind it that `length` does not count. Owned by the request, until it ends; asked again, the
 * same; req->in gives it as well. Returns NULL, with length 0, when the body ended early, was over max_body, or memory was short,
 * which makes the answer a 400, 413 or 500. Blocks while the client sends. Before anything was read from req->in (else NULL
 * and 500); the handler's own thread. */
MR_PUBLIC const char *mr_body(FCGX_Request *req, size_t *length) MR_MUST_CHECK;

/* The value of a field of the query string, of a form's body (application/x-www-form-urlencoded): the first one of that name,
 * decoded, NUL-terminated; NULL when there is none. A value that cannot be a text (an escape that is none, %00, no UTF-8) makes
 * the answer a 400, and so do more than 1,000 fields; a body of another type, multipart/form-data too, makes it a 415; then the
 * value is NULL. An answer that has begun to leave is not changed. A name that cannot be a text is no field's. Owned by the
 * request, until it ends. The handler's own thread; mr_form reads the body by mr_body: it blocks and fails as that does. */
MR_PUBLIC const char *mr_query(FCGX_Request *req, const char *name);
MR_PUBLIC const char *mr_form(FCGX_Request *req, const char *name);

/* Calls `function` once when the handler has returned for good (without having suspended the request), on its thread, before
 * the answer's end is sent; the last one asked for is called first. Returns 0, -1 when memory is short. The handler's own
 * thread. */
MR_PUBLIC int mr_at_end(FCGX_Request *req, void (*function)(void *arg), void *arg) MR_MUST_CHECK;

/* -- Suspended requests -----------------------------------------------------------------------------------------------
 *
 * A handler that has to wait can end its request's turn instead of holding a thread: it suspends the request and returns,
 * and is called back on its lane. */

enum mr_wake {
    MR_RESUMED,     /* mr_resume was called */
    MR_TIMED_OUT,   /* the route's request_timeout has passed (see mr_deadline_ms) */
    MR_CLIENT_GONE, /* nobody waits for the answer (see mr_client_gone): nothing that is written will be sent */
};

/* From inside a handler (or an on_wake): what it returns then is not the end of the request. `on_wake` is called once, for the
 * first of the three reasons, as a handler is: it may block, write, suspend again, and returns the application status. Until
 * then the request's variables and what was written to req->out stay as they are; nothing may be read from req->in, nor
 * written, by anybody. Returns a ticket that mr_resume takes; 0 with errno, and then nothing was done, when memory is short
 * (ENOMEM), and for a request that is suspended already or was woken for another reason than MR_RESUMED (ECANCELED). */
MR_PUBLIC uint64_t mr_suspend(FCGX_Request *req, int (*on_wake)(FCGX_Request *req, enum mr_wake why, void *arg), void *arg)
    MR_MUST_CHECK;

/* Ends the waiting. Any thread until stop() has returned, also before the handler that has suspended has returned. Returns 1, or 0 when that request waits
 * no more: it was resumed before, its time was over, its client has gone; a ticket means no other request, ever. Never
 * blocks. */
MR_PUBLIC int mr_resume(uint64_t ticket);

/* -- Lanes ---------------------------------------------------------------------------------------------------------
 *
 * What follows is called from any thread, until stop() has returned, unless something else is said. Callbacks are called as
 * handlers are: they may block (then others go on with the lane meanwhile), and so may find that other callbacks and handlers
 * of the lane run beside them. One watch's or timer's callback never runs twice at once. */

/* The lane that serves a request, for its route; valid for the worker's life. */
MR_PUBLIC struct mr_lane *mr_lane(const FCGX_Request *req);
MR_PUBLIC struct mr_route *mr_lane_route(const struct mr_lane *lane);

/* A pointer that lane_start() left, NULL before. The application guards what it points to. */
MR_PUBLIC void *mr_lane_state(const struct mr_lane *lane);
MR_PUBLIC void mr_lane_set_state(struct mr_lane *lane, void *state);

/* Calls `on_ready` whenever the descriptor can be read or written (`events` and `ready`: POLLIN, POLLOUT; also given: POLLERR,
 * POLLHUP), for as long as it can, until mr_unwatch. Returns NULL with errno. The descriptor stays the caller's: it is closed
 * after mr_unwatch. */
struct mr_watch;
MR_PUBLIC struct mr_watch *mr_watch(struct mr_lane *lane, int fd, int events,
                                    void (*on_ready)(struct mr_watch *watch, int ready, void *arg), void *arg) MR_MUST_CHECK;

/* Waits for these events from now on. Not beside mr_unwatch. */
MR_PUBLIC void mr_watch_events(struct mr_watch *watch, int events);

/* Ends and frees it. A callback that had begun on another thread may still run, no other begins. NULL: nothing. */
MR_PUBLIC void mr_unwatch(struct mr_watch *watch);

/* A timer calls `on_time` once each time it was set. It rests until mr_after. Returns NULL with errno. */
struct mr_timer;
MR_PUBLIC struct mr_timer *mr_timer_new(struct mr_lane *lane, void (*on_time)(struct mr_timer *timer, void *arg), void *arg)
    MR_MUST_CHECK;

/* Sets it, instead of what it was set to before: in `ms` milliseconds; 0: once the lane has handled what is at hand, before it
 * waits for anything new (what is gathered up to then can be sent together); -1: not at all. A callback that had begun is
 * not stopped. */
MR_PUBLIC void mr_after(struct mr_timer *timer, int ms);

/* Ends and frees it, like mr_unwatch. */
MR_PUBLIC void mr_timer_free(struct mr_timer *timer);

/* -- Configuration and state ----------------------------------------------------------------------------------- */

/* The value of one entry of the route's `options` block, NULL when it is not set.
 * Owned by the runtime, unchanged for the worker's life. Any thread. */
MR_PUBLIC const char *mr_option(const FCGX_Request *req, const char *name);
MR_PUBLIC const char *mr_route_option(const struct mr_route *route, const char *name);

/* A pointer that start() left for the handlers of its route, NULL before. The application guards what it points to. */
MR_PUBLIC void *mr_state(const FCGX_Request *req);
MR_PUBLIC void *mr_route_state(const struct mr_route *route);
MR_PUBLIC void mr_route_set_state(struct mr_route *route, void *state);

/* A number of the application's own, shown with its route in the status: a gauge (how many now: summed over the workers that
 * live) or a counter (how often so far: kept when workers end, are replaced or reloaded). From start() alone, once a name; names
 * are of a-z, 0-9 and _, at most 31 bytes, and end in neither _total nor _created; `help` is one line, of which 119 bytes are
 * copied. Returns NULL, and says why in the log, when there is no room for another (16 a route) or the name is none, which
 * mr_figure_add takes as nothing. The runtime owns it. */
enum mr_figure_kind { MR_GAUGE, MR_COUNTER };
struct mr_figure;
MR_PUBLIC struct mr_figure *mr_figure(struct mr_route *route, enum mr_figure_kind kind, const char *name, const char *help);

/* Any thread; never blocks. A counter only grows: what is negative is nothing to it. */
MR_PUBLIC void mr_figure_add(struct mr_figure *figure, int64_t more);

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
