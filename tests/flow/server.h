/*
 * server.h: starts the real build/millrace on a configuration of its own, in a private directory, on a unix socket and
 * a TCP port that nobody else uses; and stops it. What goes wrong fails the case that runs.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "process.h"

enum { SERVER_PATH_MAX = 100 }; /* a socket's path in it must stay below 108 bytes */

/* A sanitizer keeps freed memory for a while and turns deadly signals into its own report. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SERVER_SANITIZED = true };
#else
enum { SERVER_SANITIZED = false };
#endif

struct server {
    pid_t pid;  /* the master; 0 when it does not run */
    int status; /* of waitpid, once it has ended */
    char directory[SERVER_PATH_MAX];
    char local[SERVER_PATH_MAX + 20]; /* addresses for link_new: a unix socket, with MILLRACE_TEST_TCP set a TCP port too */
    char tcp[32];
};

/* A port that nobody listens on, below the range from which the kernel gives ports to clients. */
int server_free_port(void);

/* What every server here has unless `options` (lines of configuration, may be NULL) say otherwise. */
enum { SERVER_WORKERS = 2, SERVER_LANES = 2, SERVER_THREADS = 8 };

/* Another program of the build than `millrace` from now on. */
void server_use(const char *program);

/* Starts a server and waits until it is ready. Routes: every application of apps/ and tests/apps/ that can be opened
 * under its own name. A server that an earlier case left is ended first. */
struct server *server_start(const char *options);

/* The path of an application's shared object, one of apps/ or of tests/apps/, for options. Valid until the next call. */
const char *server_app(const char *name);

/* The server that the cases of one program share: started by the first that asks, again when it no longer runs. */
struct server *server_shared(void);

/* Writes another configuration for the running server, with these options. */
void server_reconfigure(struct server *server, const char *options);

/* Sends SIGHUP or SIGUSR2 and waits for what comes of it: the line in the pid file's neighbour. Valid until the next call. */
const char *server_signal_outcome(struct server *server, int signal);

/* After a binary upgrade: waits for the old master's end, which must be a good one, and goes on with the new one. Does nothing
 * when there is no new one. */
void server_follow(struct server *server);

/* The path of a file of this name in the server's directory, or where the next one's will be. Valid until the next call. */
const char *server_scratch(const char *name);

/* Sends the signal and waits for the end. Returns the exit status, 128 + the signal that ended it. */
int server_stop(struct server *server, int signal);

/* Waits for the end, which something else brings about. */
int server_wait(struct server *server, int limit_ms);

struct process_children server_workers(const struct server *server);

/* Waits until as many workers run as were configured, and none of them is `not_this`. */
struct process_children server_workers_without(const struct server *server, pid_t not_this);

/* The sum of a figure over the workers: descriptors, threads, memory. */
long server_sum(const struct server *server, long (*figure)(pid_t pid));

/* Waits until one of these workers has left. Returns whether one did. */
bool server_lost_one(const struct process_children *of, int limit_ms);

/* The last line of a file in the server's directory, for messages. */
const char *server_last_line(const struct server *server, const char *name);

/* Lines that contain the text: of a file in the server's directory, and of its log. */
int server_count_lines(const struct server *server, const char *name, const char *text);
int server_log_count(const struct server *server, const char *text);
bool server_log_waits_for(const struct server *server, const char *text, int limit_ms);

#endif
