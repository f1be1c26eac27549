/*
 * response.h: the parser of HTTP/1.1 replies: a head, and the chunks behind it. Bytes in, spans out: no allocation, no I/O.
 *
 * It is not the server's (serve/http_parse.h): a generator that shared a mistake with the server would not see it. It looks at
 * what says where a reply ends, and refuses what two readers could understand differently.
 *
 * Source: RFC 9112, sections 4 (status line), 6 (framing), 7.1 (chunks), 9.3 (persistence).
 */
#ifndef LOAD_RESPONSE_H
#define LOAD_RESPONSE_H

#include "base/span.h"

#define RESPONSE_HEAD_MAX 32768 /* bytes; a longer head is BAD */

enum response_framing {
    RESPONSE_EMPTY,   /* no body: HEAD, 204, 304 */
    RESPONSE_LENGTH,  /* `length` bytes */
    RESPONSE_CHUNKED,
    RESPONSE_CLOSE,   /* everything until the connection ends */
};

enum response_result { RESPONSE_MORE, RESPONSE_DONE, RESPONSE_BAD };

struct response_head {
    int status; /* 200 to 599 */
    enum response_framing framing;
    bool keep_alive;     /* the connection may carry another request */
    uint64_t length;     /* RESPONSE_LENGTH: of the body */
    size_t head_bytes;   /* up to and with the empty line; interim replies (1xx) before it included */
};

/* Reads the head at the beginning of the input; `to_head`: the request was HEAD. Returns RESPONSE_MORE when the input ends
 * before the head does; the next call gets it from its beginning again. */
enum response_result response_parse_head(struct response_head *head, struct span input, bool to_head);

/* All zero: before the first chunk. */
struct response_chunks {
    uint64_t left; /* of the chunk at hand */
    uint8_t stage, digits;
    uint16_t line_bytes;
};

/* Takes bytes off the input. Returns RESPONSE_MORE with `data` some bytes of the body, or with none of it when the input is
 * used up; RESPONSE_DONE behind the last chunk and its trailers; RESPONSE_BAD. */
enum response_result response_parse_chunk(struct response_chunks *chunks, struct span *input, struct span *data);

#endif
