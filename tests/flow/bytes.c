/* bytes.c: a growing run of bytes; running out of memory ends the test program. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

static void bytes_reserve(struct bytes *to, size_t more)
{
    size_t room = to->room ? to->room : 1024;

    while (room < to->length + more)
        room *= 2;
    if (room == to->room)
        return;
    to->data = realloc(to->data, room);
    if (!to->data)
        abort();
    to->room = room;
}

void bytes_add(struct bytes *to, const void *data, size_t length)
{
    bytes_reserve(to, length);
    if (length)
        memcpy(to->data + to->length, data, length);
    to->length += length;
}

void bytes_add_fill(struct bytes *to, int value, size_t length)
{
    bytes_reserve(to, length);
    memset(to->data + to->length, value, length);
    to->length += length;
}

void bytes_clear(struct bytes *these)
{
    these->length = 0;
}

void bytes_fini(struct bytes *these)
{
    free(these->data);
    *these = (struct bytes){0};
}

const char *bytes_text(struct bytes *these)
{
    bytes_reserve(these, 1);
    these->data[these->length] = '\0';
    return (const char *)these->data;
}
