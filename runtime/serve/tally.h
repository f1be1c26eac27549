/*
 * tally.h: counts answers, for the status, the access log and the worker's own limits.
 */
#ifndef SERVE_TALLY_H
#define SERVE_TALLY_H

struct lane;
struct request;

/* The request's answer has left, or cannot. */
void tally_answer(struct lane *lane, const struct request *request);

#endif
