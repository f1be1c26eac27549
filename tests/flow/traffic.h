/*
 * traffic.h: load through a real nginx (front.h) while a test does things to the server: GET and POST at a constant rate on
 * kept connections, every answer checked to the byte. Runs on threads of its own; nothing of it fails a case by itself.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front.h"

struct traffic_options {
    int connections; /* 0: 16 */
    int rate;        /* requests a second over all of them; 0: as fast as they are answered */
    long requests;   /* ends by itself after that many; 0: when it is stopped */
};

/* What has gone wrong with one request. */
struct traffic_failure {
    int64_t sent_ms, failed_ms; /* deadline_now_ms() */
    bool post;
    char what[64]; /* "status 502", "the connection ended", "the body is another" */
};

enum { TRAFFIC_FAILURES_MAX = 1000 };

struct traffic_result {
    long sent, right, failed;
    long gets_sent, gets_failed, posts_sent, posts_failed;
    struct traffic_failure failures[TRAFFIC_FAILURES_MAX]; /* the first ones */
    int64_t start_ms, end_ms;
};

struct traffic;

/* Requests that traffic_start makes itself, to learn the pages. */
enum { TRAFFIC_PAGES = 3 };

/* The routes /hello, /bighello, /page8k, /env and /echo must be there: server_start's are. What a failed case has left
 * running is stopped first. */
struct traffic *traffic_start(const struct front *front, const struct traffic_options *options);

/* Waits for what is outstanding, and with options->requests for all of them. The result is valid until the next start. */
const struct traffic_result *traffic_stop(struct traffic *traffic);
const struct traffic_result *traffic_wait(struct traffic *traffic);

/* Right answers between two times, to 10 ms; while it runs, or after. */
long traffic_right_between(const struct traffic *traffic, int64_t from_ms, int64_t to_ms);

/* The longest time without a right answer between these, to 10 ms; both must have passed. */
int traffic_longest_gap_ms(const struct traffic *traffic, int64_t from_ms, int64_t to_ms);

/* One line about the rate that was reached and the first failures, for SUITE_CHECK. */
const char *traffic_describe(const struct traffic_result *result);

#endif
