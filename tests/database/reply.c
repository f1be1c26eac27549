/* reply.c: finds the end of the head, the status and the length. */
#include "reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum reply_state reply_look(struct reply *reply, const char *text, size_t got)
{
    const char *end = strstr(text, "\r\n\r\n"), *field = strcasestr(text, "\r\nContent-Length: ");
    size_t head;

    if (!end)
        return REPLY_PART;
    if (!field || field > end || sscanf(text, "HTTP/1.1 %d ", &reply->status) != 1)
        return REPLY_WRONG;
    head = (size_t)(end - text) + 4;
    reply->body = end + 4;
    reply->length = strtoul(field + strlen("\r\nContent-Length: "), NULL, 10);
    if (got - head == reply->length)
        return REPLY_WHOLE;
    return got - head < reply->length ? REPLY_PART : REPLY_WRONG;
}
