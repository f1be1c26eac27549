/* request.h: requests with an id and a body of chance's, written whole or as a head whose body follows. */
#ifndef REQUEST_H
#define REQUEST_H

#include "flow/bytes.h"
#include "flow/record.h"

int request_id(void);
int request_other_id(int id);

/* Path and query are borrowed. */
struct record_request request_get(const char *path, const char *query);
struct record_request request_post(const char *path, const char *query, size_t body_length);

/* BEGIN_REQUEST and PARAMS, in records of at most `piece` bytes (0: as large as can be). */
void request_add_head(struct bytes *to, const struct record_request *request, size_t piece);

/* All of it, cut into records by chance. */
void request_add(struct bytes *to, const struct record_request *request);

/* Parts of the body: `length` bytes of it from `from` on without an end, and all from `from` on with the end. */
void request_add_part(struct bytes *to, const struct record_request *request, size_t from, size_t length);
void request_add_rest(struct bytes *to, const struct record_request *request, size_t from);

#endif
