/* reply.h: an HTTP answer of known length, as far as it has come. Pure. */
#ifndef REPLY_H
#define REPLY_H

#include <stddef.h>

enum reply_state { REPLY_PART, REPLY_WHOLE, REPLY_WRONG };

struct reply {
    int status;
    const char *body; /* within the text */
    size_t length;
};

/* `text` ends with a NUL behind its `got` bytes. */
enum reply_state reply_look(struct reply *reply, const char *text, size_t got);

#endif
