/* equal_work.h: what a server's answer looks like on the wire: whether two servers that are compared do the same work.
 */
#ifndef OBSERVE_EQUAL_WORK_H
#define OBSERVE_EQUAL_WORK_H

#include <jansson.h>

/* One plain request, and a second on the same connection. Blocks for at most 10 seconds.
 * Returns header_bytes, body_bytes, headers (the text, without the values that change), http_version, status, keep_alive (the
 * second request was answered on the same connection), framing; or "failed" with the reason. The caller frees it. */
json_t *equal_work_card(const char *url) __attribute__((warn_unused_result));

#endif
