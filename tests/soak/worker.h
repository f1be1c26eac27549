/*
 * worker.h: the server's workers: which they were at the start, and their figures then and now. What differs fails the
 * case that runs.
 */
#ifndef WORKER_H
#define WORKER_H

#include <stddef.h>
#include <sys/types.h>

struct server;

/* Notes the workers and their figures. No connection may be open. */
void worker_init(const struct server *server);
size_t worker_count(void);

/* A figure of all workers together. */
long worker_sum(long (*figure)(pid_t pid));

void worker_check_same(void);
void worker_check_threads(void);

/* Waits until the workers have as many descriptors as at the start and one for each connection; without connections
 * each worker as many as it had. */
void worker_check_descriptors(int connections);

#endif
