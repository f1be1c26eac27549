/*
 * traces.h: what the borrower of a connection leaves on it, and its removal.
 *
 * Left are an open transaction, a command that still runs, settings of libpq's, and what a session remembers. The last cannot be
 * asked for without a question to the server; so the tags of all commands are watched (libpq's result events, which come
 * whichever way a command was sent), and only after one that may change the session is it reset, by DISCARD ALL.
 */
#ifndef DB_TRACES_H
#define DB_TRACES_H

#include "session.h"

/* Watches the session from now on, until it is closed. Returns 0, −1 when memory is short. */
int traces_watch(struct session *session) MR_MUST_CHECK;

/* The watched session of a connection, NULL when it is none of ours. */
struct session *traces_session(const PGconn *connection);

/* Makes a connection as new that was just given back. Blocks, for some seconds at most, while there is something to remove.
 * Returns 0; −1 when that cannot be done in time: then it has to be closed. */
int traces_remove(struct session *session) MR_MUST_CHECK;

/* Pure: whether a command that ended with this status and tag may have changed what the session remembers beyond its
 * transaction. */
bool traces_may_stay(ExecStatusType status, const char *tag);

#endif
