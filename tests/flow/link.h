/*
 * link.h: one connection to a server: raw bytes out, raw bytes in, each within a time limit. What goes wrong fails the
 * case that runs (it does not return then), except in the calls that are named `try`.
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    int fd;
    size_t sent_bytes;
};

/* Address: "unix:/path", "127.0.0.1:9000" or "[::1]:9000". */
struct link *link_new(const char *address);
struct link *link_try_new(const char *address); /* NULL with errno */
void link_free(struct link *link);
void link_free_all(void); /* what a failed case left behind */

void link_send(struct link *link, const void *data, size_t length);

/* Sends until everything is out or the peer has closed; returns the number of bytes sent. */
size_t link_try_send(struct link *link, const void *data, size_t length, int limit_ms);

void link_read(struct link *link, void *data, size_t length, int limit_ms);

/* Reads what comes, at most `length` bytes. Returns 0 at the end of the connection (a reset counts as one), -1 when
 * nothing came in time. */
long link_try_read(struct link *link, void *data, size_t length, int limit_ms);

/* Whether the peer closes within the time; bytes that come before are thrown away. */
bool link_closes(struct link *link, int limit_ms);

/* Whether nothing at all comes within the time, neither bytes nor the end. */
bool link_is_silent(struct link *link, int limit_ms);

void link_shrink_receive_buffer(struct link *link, int bytes);

#endif
