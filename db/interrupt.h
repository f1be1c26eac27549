/*
 * interrupt.h: asks the server to cancel what a connection runs. PQcancel makes a connection of its own and waits for the server
 * without a limit, so a thread of its own calls it.
 *
 * It hits whatever the session runs when it arrives: the connection must not be used for something new before
 * interrupt_end has returned true.
 */
#ifndef DB_INTERRUPT_H
#define DB_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

struct interrupt;

/* Begins, and does not block. Returns NULL when memory is short or INTERRUPT_LIMIT of them wait for servers already. */
enum { INTERRUPT_LIMIT = 32 };
struct interrupt *interrupt_begin(PGconn *connection);

/* Whether the server has taken it, or will not. Never blocks. */
bool interrupt_is_over(struct interrupt *interrupt);

/* Waits until the server has taken it, at most until then. Returns false when it has not, and may yet: then close the
 * connection. The interrupt is gone in both cases. NULL: false. */
bool interrupt_end(struct interrupt *interrupt, int64_t end_us);

#endif
