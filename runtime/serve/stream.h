/*
 * stream.h: the runtime's side of FCGX_Stream: where the buffers come from and go to.
 */
#ifndef SERVE_STREAM_H
#define SERVE_STREAM_H

#include <stddef.h>
#include <stdint.h>

struct request;

/* Sets up the three streams of a request whose handler is about to be called. */
void stream_open(struct request *request);

/* Points the output stream at an empty buffer. */
void stream_empty_output(struct request *request);

/* What the output buffer holds begins here; and its length. */
uint8_t *stream_output_content(struct request *request);
size_t stream_output_length(struct request *request);

/* The same of the err stream; the content's place only once the handler has used it. */
uint8_t *stream_error_content(struct request *request);
size_t stream_error_length(const struct request *request);

/* Ends a stream, so that FCGX_ calls on it return EOF; `error` is what FCGX_GetError tells, 0 for none. */
void stream_close_input(struct request *request, int error);
void stream_close_output(struct request *request, int error);

#endif
