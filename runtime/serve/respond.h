/*
 * respond.h: what a handler wrote becomes an answer.
 */
#ifndef SERVE_RESPOND_H
#define SERVE_RESPOND_H

struct request;

/* Handler's thread. Sends what the output buffer holds and empties it; blocks while the peer reads slowly.
 * Returns 0, −1 when the peer has gone. */
int respond_flush(struct request *request) __attribute__((warn_unused_result));
int respond_flush_errors(struct request *request) __attribute__((warn_unused_result));

/* Makes the server's own page for `status` the answer, in place of what the buffer holds. */
void respond_error(struct request *request, int status);

/* The handler has returned: completes the answer. What is left to send is then in request->unsent. */
void respond_finish(struct request *request);

#endif
