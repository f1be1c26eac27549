/* bytes.h: a growing run of bytes. A zeroed struct is an empty one; bytes_fini gives the memory back. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>

struct bytes {
    unsigned char *data;
    size_t length, room;
};

void bytes_add(struct bytes *to, const void *data, size_t length);
void bytes_add_fill(struct bytes *to, int value, size_t length);
void bytes_clear(struct bytes *these);
void bytes_fini(struct bytes *these);

/* The content as a string, valid until the next change; a NUL byte inside ends it. Never NULL. */
const char *bytes_text(struct bytes *these);

#endif
