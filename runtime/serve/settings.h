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

struct settings_option {
    const char *name, *value;
};

struct settings_route {
    const char *path; /* begins with /, does not end with one unless it is "/" */
    const char *file;
    const char *where; /* file:line of its block, for messages */
    int64_t max_body_bytes;
    bool blocking; /* the lane is handed over before the handler is called */
    const struct settings_option *options;
    size_t option_count;
};

struct settings {
    int workers, lanes, threads;
    bool debug; /* one process, one lane, no watchdog, no time limits */
    struct account account;
    struct peers peers; /* who may connect over TCP */
    size_t max_params_bytes;
    int64_t head_timeout_us, body_timeout_us, write_timeout_us, idle_timeout_us;
    int64_t queue_us;
    int queue_limit;
    const struct settings_route *routes;
    size_t route_count;
};

#endif
