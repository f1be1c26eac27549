/*
 * stream.h: the runtime's side of FCGX_Stream: where the buffers come from and go to.
 */
#ifndef SERVE_STREAM_H
#define SERVE_STREAM_H

struct request;

/* Sets up the three streams of a request whose handler is about to be called. */
void stream_open(struct request *request);

/* Points the output stream at an empty buffer. */
void stream_empty_output(struct request *request);

/* Ends a stream, so that FCGX_ calls on it return EOF; `error` is what FCGX_GetError tells, 0 for none. */
void stream_close_input(struct request *request, int error);
void stream_close_output(struct request *request, int error);

#endif
