/*
 * postgres.h: a private PostgreSQL (db/cluster) that things are done to: started with the first call, in the program's
 * private directory, ended with the program. What goes wrong fails the case that runs.
 */
#ifndef POSTGRES_H
#define POSTGRES_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

enum { POSTGRES_MAX_CONNECTIONS = 60 };

/* Starts it, or sets right what a failed case has left: it runs, no process of it is stopped, nobody holds anything,
 * and the role `locked` has its password, the table `division` its name. */
void postgres_start(void);

const char *postgres_folder(void); /* of its socket, for conninfo */
const char *postgres_socket(void); /* the path of the socket */

/* A connection of the role `millrace`, the caller's; NULL when it was refused. */
PGconn *postgres_connect(void);

/* One statement, as the superuser in the database millrace. The first value of the first row, valid until the next
 * call; "" when there is none. postgres_try gives NULL where the others fail the case. */
const char *postgres_ask(const char *sql);
const char *postgres_try(const char *sql);
void postgres_do(const char *sql);

/* pg_ctl restart, start, stop: returns when that is done. Mode: "fast", "immediate". */
void postgres_restart(const char *mode);
void postgres_stop(const char *mode);
void postgres_run(void);

/* Ends every session of the applications'. The second one may be called from a thread of its own, while no other
 * statement is asked for; it returns whether it could. */
void postgres_terminate_backends(void);
bool postgres_try_terminate(void);

/* SIGSTOP or SIGCONT to the server and every process of it. */
void postgres_signal_all(int signal);

/* The largest file that the server may write: what is longer fails like on a full disk. 0: no limit. */
void postgres_limit_files(long bytes);

/* Sessions that take every free place but so many; the applications keep what they have. */
void postgres_hold_connections(int leave);
void postgres_release_connections(int count); /* −1: all */

/* Sessions of the applications (roles millrace and locked; not those held), by the titles of the server's processes:
 * needs no connection. */
int postgres_session_count(void);

/* Samples the sessions on a thread of its own. postgres_watch_end gives the longest time, in ms, for which there
 * were more than the limit without a break. */
void postgres_watch_sessions(int limit);
int postgres_watch_end(int *most);

#endif
