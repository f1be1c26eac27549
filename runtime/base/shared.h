/*
 * shared.h: memory that processes share: forked ones by inheritance, others by its descriptor.
 *
 * Pages that nobody has written cost nothing, so it may be large.
 */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stddef.h>

struct shared {
    void *at; /* zeroed at first; NULL: none */
    size_t bytes;
    int fd; /* close-on-exec; −1: none */
};

/* Makes new memory. `name` is for /proc/PID/maps. Returns 0, −1 with errno. */
int shared_new(struct shared *shared, const char *name, size_t bytes) __attribute__((warn_unused_result));

/* Maps memory that another program made, whose descriptor was inherited; takes the descriptor also when it fails.
 * Returns 0, −1 with errno (EINVAL: it has another size). */
int shared_adopt(struct shared *shared, int fd, size_t bytes) __attribute__((warn_unused_result));

/* Unmaps it here; it lasts as long as another process has it. */
void shared_fini(struct shared *shared);

/* Zeroes a part that begins and ends with a page, and gives its memory back. */
void shared_clear(const struct shared *shared, void *from, size_t bytes);

/* The size of a page. */
size_t shared_page_bytes(void);

#endif
