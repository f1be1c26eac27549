/*
 * tool.h: what ab and httperf have in common: what they are asked to do, the command made of it, how they ended, and
 * the rules that hold for both.
 *
 * Pure: nothing is run, read or allocated here. bench/run executes the commands, bench/results applies the rules.
 */
#ifndef BENCH_TOOLS_TOOL_H
#define BENCH_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/span.h"
#include "tools/ruling.h"

#define TOOL_ARGUMENTS_MAX  32
#define TOOL_TEXT_BYTES_MAX 4096
#define TOOL_WHY_BYTES_MAX  200

/* What a tool is asked to do. Zero means "not said" unless another meaning is given. */
struct tool_settings {
    const char *url;     /* http://ADDRESS[:PORT]/PATH: plain HTTP, an IPv4 address or a name */
    int concurrency;     /* 1 or more */
    int64_t requests;    /* so many; 0: as many as fit into `seconds` */
    double seconds;      /* ab rounds up; httperf has no clock, so its requests are chosen: rate × seconds */
    double rate_per_s;   /* requests per second to be expected, as the warm-up found: for httperf */
    bool keep_alive;     /* false: a connection for every request */
    int timeout_s;       /* for one request; 0: TOOL_TIMEOUT_S */

    /* What must come back. */
    int64_t body_bytes;              /* of every reply; −1: not known */
    bool variable_length;            /* pages differ in length: ab checks nothing then, see tool_judge_checks */
    int64_t requests_per_connection; /* after so many the server closes a connection; 0: never */

    /* ab alone. */
    const char *times_file;   /* for -e: the percentages as CSV, exact to a µs; NULL: none */
    bool continue_after_reset; /* -r: only for the historic commands; a reset then is a number instead of an end */

    /* httperf alone. */
    double connections_per_s; /* --rate; 0: HTTPERF_CONNECTIONS_PER_S; must be given without keep_alive */
    int burst_length;         /* --burst-length; 0: 1 */
    int recv_buffer_bytes;    /* --recv-buffer; 0: enough for body_bytes, at least HTTPERF_RECV_BUFFER_BYTES */
    bool close_with_reset;    /* --close-with-reset */
};

#define TOOL_TIMEOUT_S 10

/* A command line. The arguments point into `text` and into the settings' texts: neither may move or end before it. */
struct tool_command {
    const char *argv[TOOL_ARGUMENTS_MAX + 1]; /* argv[0] is the program's name, for execvp; ends with NULL */
    int argc;
    const char *environment[4]; /* NAME=value, to be set besides what is inherited; ends with NULL */
    double limit_s;             /* end the tool when it has run so long: it hangs */
    int64_t requests;           /* that will be made; 0: by time */
    char why[TOOL_WHY_BYTES_MAX]; /* the sentence, when there is no command */
    size_t used;                /* of text */
    char text[TOOL_TEXT_BYTES_MAX];
};

/* How the tool's process ended (outcome.json). */
struct tool_exit {
    const char *not_made; /* why the round could not be made (outcome.json's "failed"); NULL: it was */
    bool started;         /* it could be executed */
    int start_errno;      /* when not: why; ENOENT: not installed; 0: not known */
    bool timed_out;       /* ended by us at limit_s */
    int signal;           /* that ended it; 0: none */
    int exit_status;      /* when started, not timed out and without signal */
    double seconds;       /* that it ran */
    bool server_alive;    /* the measured server was still there afterwards */
    struct span errors;   /* what it wrote on standard error, for the sentence; may be empty */
};

/* What millbench load counted beside the tool: numbers of before.json, during.json, after.json. */
struct tool_check {
    const char *when;  /* "before", "during", "after": for the sentence */
    bool made;         /* false: there is no such file */
    int64_t sent;
    int64_t verified;  /* status, length and hash right */
};

/* Starts a command: argv[0], LC_ALL=C. For ab_command and httperf_command. */
void tool_begin(struct tool_command *command, const char *program);

/* Adds one argument, formatted. CHECKs that there is room: urls are limited by tool_check_settings. */
void tool_add(struct tool_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Refuses: writes the sentence. Returns −1. */
int tool_refuse(struct tool_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What no tool can do. Returns 0, or −1 with `why` written. */
int tool_check_settings(struct tool_command *command, const struct tool_settings *settings) MUST_CHECK;

/* The parts of a URL; they are borrowed from it. */
struct tool_url {
    const char *host;
    int host_length;
    int port;
    const char *path; /* with its slash and query */
};

/* Returns 0, or −1 when it is no http URL with host and path. */
int tool_split_url(const char *url, struct tool_url *parts) MUST_CHECK;

/* How the process ended: not installed, could not start, timed out, a signal, an exit status, a dead server. `name` is
 * ab or httperf. Nothing is added when it ended as it should. */
void tool_judge_exit(const char *name, const struct tool_exit *ended, struct ruling *ruling);

/* The replies that millbench load verified before, during and after the run: void unless each check was made, sent
 * something and verified all of it. For pages of variable length there is no other check of what ab was given, and for
 * any page there is none by either tool of what the bytes are. */
void tool_judge_checks(const struct tool_check *checks, int count, struct ruling *ruling);

#endif
