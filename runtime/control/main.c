/*
 * main.c: the command line.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "control/config.h"
#include "control/environment.h"
#include "control/master.h"
#include "control/notify.h"
#include "control/option.h"
#include "control/pid_file.h"
#include "control/places.h"
#include "control/server.h"
#include "control/sockets.h"
#include "control/status_ask.h"
#include "control/verify.h"

#define DEFAULT_CONFIGURATION "/etc/millrace/millrace.conf"

struct command {
    const char *configuration, *program;
    bool check_only, debug, ask_status;
};

static void print_usage(FILE *to)
{
    fprintf(to, "usage: millrace [-c FILE] [-n] [-d] [-V] [-h]\n"
                "       millrace [-c FILE] status\n");
}

static void print_help(void)
{
    print_usage(stdout);
    printf(
        "Serves web applications written in C to a FastCGI front end such as nginx.\n\n"
        "  -c FILE  the configuration (" DEFAULT_CONFIGURATION ")\n"
        "  -n       check the configuration, open every application, and exit 0 or 1\n"
        "  -d       debug: one process, one lane, no watchdog, no time limits, no change of user\n"
        "  -V       print the version\n"
        "  -h       print this help\n"
        "  status   print what the running server is doing, from the configuration's status listener\n\n"
        "Sockets come from systemd (LISTEN_FDS), else descriptor 0 when it listens, else the configuration.\n"
        "Signals: TERM drain and stop, INT and QUIT stop at once, HUP reload, USR1 reopen the logs, USR2 replace the\n"
        "running program by what is at its path now.\n"
        "Exit status: 0 stopped as asked, 1 could not start, 2 bad usage.\n\n");
    option_print_help(stdout);
}

/* Ends the process for -V, -h and bad usage. */
static struct command read_command(int argc, char **argv)
{
    struct command command = {.configuration = DEFAULT_CONFIGURATION};
    int letter;
    opterr = 0; /* its words are said below */
    while ((letter = getopt(argc, argv, "c:ndVh")) != -1) {
        switch (letter) {
        case 'c':
            command.configuration = optarg;
            break;
        case 'n':
            command.check_only = true;
            break;
        case 'd':
            command.debug = true;
            break;
        case 'V':
            printf("millrace %s\n", MR_VERSION);
            exit(0);
        case 'h':
            print_help();
            exit(0);
        default:
            fprintf(stderr, "millrace: unknown option or missing argument at -%c (see millrace -h)\n", optopt);
            exit(MASTER_EXIT_BAD_USAGE);
        }
    }
    if (optind == argc - 1 && strcmp(argv[optind], "status") == 0) {
        command.ask_status = true;
    } else if (optind < argc) {
        fprintf(stderr, "millrace: unexpected argument '%s' (see millrace -h)\n", argv[optind]);
        exit(MASTER_EXIT_BAD_USAGE);
    }
    return command;
}

/* Exit status: 0, 1 when nobody answers. */
static int ask_status(const struct config *config)
{
    if (config->has_status)
        return status_ask(&config->status, "/status.txt", stdout) == 0 ? 0 : 1;
    fprintf(stderr, "millrace: the configuration names no status listener: add status = \"127.0.0.1:8082\"\n");
    return 1;
}

/* -- faults: to standard error, and to a master before this one
 * ---------------------------------------------------------- */

static struct inheritance inheritance;

static void report_line(const char *line)
{
    fprintf(stderr, "%s\n", line);
    if (inheritance.channel >= 0)
        upgrade_tell_fault(inheritance.channel, line);
}

static void report(const char *line)
{
    char text[1100];
    snprintf(text, sizeof text, "millrace: %s", line);
    report_line(text);
}

/* -- what is there before the first worker
 * -------------------------------------------------------------------------------- */

static int check_pid_file(const struct config *config)
{
    char text[600];
    if (config->pid_file == NULL || pid_file_check(config->pid_file) == 0)
        return 0;
    snprintf(text, sizeof text, "cannot write pid_file %.400s: %s", config->pid_file, strerror(errno));
    report(text);
    return -1;
}

/* The path by which this program was started, which may be a link that leads elsewhere when it is started again. */
static const char *program_path(const char *name)
{
    static char found[PATH_MAX];
    if (strchr(name, '/') != NULL)
        return name;
    ssize_t length = readlink("/proc/self/exe", found, sizeof found - 1);
    found[length > 0 ? length : 0] = '\0';
    return found;
}

static int run(const struct command *command, struct config *config, bool inherited)
{
    static struct sockets sockets;
    if (check_pid_file(config) < 0)
        return MASTER_EXIT_CANNOT_START;
    int result = inherited ? sockets_change(&sockets, &inheritance.sockets, config, report)
                           : sockets_open(&sockets, config, report);
    int access_fd = -1;
    if (result < 0 || server_open_logs(config, &access_fd, report) < 0) {
        if (result == 0)
            sockets_drop(&sockets, &inheritance.sockets);
        return MASTER_EXIT_CANNOT_START;
    }
    struct master_start start = {.configuration = command->configuration,
                                 .program = command->program,
                                 .config = config,
                                 .sockets = &sockets,
                                 .inheritance = inherited ? &inheritance : NULL,
                                 .access_fd = access_fd};
    if (command->debug)
        master_debug(&start);
    return master_run(&start);
}

int main(int argc, char **argv)
{
    struct command command = read_command(argc, argv);
    command.program = program_path(argv[0]);
    static struct config config;
    /* The log may be a pipe whose reader leaves. */
    static const int disregarded[] = {SIGPIPE, 0};
    signals_disregard(disregarded);
    int inherited = upgrade_inherit(&inheritance);
    sockets_close_strangers(inheritance.fds);
    notify_init();
    environment_init();
    if (inherited < 0) {
        report("what the old program passes on cannot be understood");
        return MASTER_EXIT_CANNOT_START;
    }
    if (config_read(&config, command.configuration, report_line) < 0 || environment_apply(&config, report) < 0)
        return MASTER_EXIT_CANNOT_START;
    if (command.ask_status)
        return ask_status(&config);
    if (places_check(&config, report) < 0 || verify_wait(&config, report_line) < 0)
        return MASTER_EXIT_CANNOT_START;
    if (command.check_only) {
        printf("%s: the configuration and every application are in order\n", command.configuration);
        config_fini(&config);
        return 0;
    }
    return run(&command, &config, inherited == 1);
}
