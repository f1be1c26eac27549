/*
 * load_options.h: what `millbench load` is asked to do, from its command line. Reads the files of expected bodies, nothing else.
 */
#ifndef LOAD_LOAD_OPTIONS_H
#define LOAD_LOAD_OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "load/body_set.h"

#define LOAD_OPTIONS_FIELDS_MAX    32
#define LOAD_OPTIONS_PROCESSES_MAX 256

struct load_options {
    const char *url; /* borrowed from argv, as all texts here */
    int connections; /* of all processes together */
    int processes;
    int64_t window_us; /* 0: until `requests` are done */
    uint64_t requests; /* 0: as long as window_us */
    double rate_per_s; /* 0: closed loop */
    int64_t warm_up_us, timeout_us, slow_us;
    bool closes; /* a connection for each request */
    uint32_t source_first, source_count; /* addresses in the order of the host; count 0: the system's choice */
    struct body_set expected; /* empty: the first body is the standard */
    const char *method;
    const char *fields[LOAD_OPTIONS_FIELDS_MAX]; /* "Name: value" */
    int field_count;
    bool json;             /* on standard output, or */
    const char *json_file; /* into this file, the report on standard output beside it */
    char **hashed;         /* --hash: the files to hash, ended by NULL; nothing else counts then */
    bool help;
};

/* Returns 0; 2 after a line on standard error when the usage is bad, 1 when a file of expected bodies cannot be read. */
int load_options_read(struct load_options *options, int argc, char **argv) MUST_CHECK;
void load_options_fini(struct load_options *options);

extern const char load_options_usage[];

#endif
