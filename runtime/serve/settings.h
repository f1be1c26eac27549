/*
 * settings.h: what a worker is told. Filled by control/ from the configuration, unchanged afterwards.
 */
#ifndef SERVE_SETTINGS_H
#define SERVE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "base/peers.h"

#define SETTINGS_THREADS_MAX 10000
#define SETTINGS_WAITING_MAX 10000
#define SETTINGS_PATH_BYTES 256 /* of a route's path, with its NUL */

struct settings_option {
    const char *name, *value;
};

struct settings_route {
    const char *path; /* begins with /, does not end with one unless it is "/" */
    const char *file;
    int object_fd; /* the private copy of `file` that is loaded; −1: the file itself */
    const char *where; /* file:line of its block, for messages */
    int64_t max_body_bytes;
    int64_t request_timeout_us; /* soft: what mr_deadline_ms counts down to; 0: none */
    int64_t request_grace_us;   /* from then to the hard limit: the worker is replaced; 0: never */
    int max_busy;               /* handlers of this route at once in a worker; 0: no limit of its own */
    bool blocking; /* the lane is handed over before the handler is called */
    const struct settings_option *options;
    size_t option_count;
};

struct settings {
    int workers, lanes, threads;
    int max_waiting; /* handlers that wait for their peer and have another thread in their place */
    bool debug; /* one process, one lane, no watchdog, no time limits */
    bool core;  /* leave a core file after a crash */
    struct account account;
    struct peers peers; /* who may connect over TCP to a FastCGI listener */
    struct networks forwarded_from;      /* whose X-Forwarded-... lines count */
    struct networks proxy_protocol_from; /* whose connections begin with a PROXY protocol header */
    size_t max_params_bytes;
    int64_t head_timeout_us, body_timeout_us, write_timeout_us, idle_timeout_us;
    int64_t queue_us;
    int queue_limit;
    uint64_t max_requests;     /* answers after which a worker is replaced; 0: never */
    int64_t max_memory_bytes;  /* resident memory above which it is; 0: never */
    const struct settings_route *routes;
    size_t route_count;
};

/* The pool has one thread more than `threads`: with `threads - lanes` handlers blocked there is still one to reserve, and
 * short requests are answered. */
static inline int settings_pool_threads(const struct settings *settings)
{
    return settings->threads + 1;
}

/* The most that it ever has. */
static inline int settings_pool_room(const struct settings *settings)
{
    return settings_pool_threads(settings) + settings->max_waiting;
}

#endif
