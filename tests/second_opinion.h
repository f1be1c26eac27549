/*
 * second_opinion.h: libhttp-parser beside serve/http_parse.c. The one may refuse what the other takes; but what it takes it
 * must read as the other does, or a proxy in front and the server behind it would see two different requests.
 *
 * Where libhttp-parser has no opinion, on purpose or by a limit of its own, the comparison leaves that part out:
 * - methods that it does not know: the rest is compared with GET in its place;
 * - Upgrade, which the server ignores;
 * - Connection lines with other bytes than tokens, commas and blanks, with empty items, or with items that begin like its
 *   three words but are others: there it loses the next word; `close` beside `keep-alive` on HTTP/1.0, where it keeps the
 *   connection; Proxy-Connection, which it takes for Connection;
 * - tabs behind values and before a chunk's extension, which RFC 9112 (sections 5 and 7.1.1) allows;
 * - Content-Length or Transfer-Encoding among the trailers, which mean nothing there but are read by it;
 * - everything, when a name begins with Transfer-Encoding and goes on, which it takes for that;
 * - hosts of absolute targets beyond names and addresses, and ports over 65535, which its function for URLs refuses.
 */
#ifndef SECOND_OPINION_H
#define SECOND_OPINION_H

#include "base/span.h"

enum second_opinion_kind {
    SECOND_OPINION_REFUSED,    /* by our parser: nothing is compared */
    SECOND_OPINION_UNFINISHED, /* our parser waits for more; so does the other when the head is there */
    SECOND_OPINION_PARTLY,     /* the heads are alike; of the body there is one opinion at most */
    SECOND_OPINION_SAME,       /* a whole request, read alike */
    SECOND_OPINION_DIFFERENT,
};

/* Reads the first request of these bytes with both. `*why` is written when they differ: text that stays until the next call.
 * Threads: one at a time. */
enum second_opinion_kind second_opinion(struct span input, const char **why);

#endif
