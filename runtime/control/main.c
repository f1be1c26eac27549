/*
 * main.c: the command line.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "control/config.h"
#include "control/master.h"
#include "control/option.h"
#include "control/pid_file.h"
#include "control/sockets.h"
#include "control/verify.h"

#define DEFAULT_CONFIGURATION "/etc/millrace/millrace.conf"

struct command {
    const char *configuration;
    bool check_only, debug;
};

static void print_usage(FILE *to)
{
    fprintf(to, "usage: millrace [-c FILE] [-n] [-d] [-V] [-h]\n");
}

static void print_help(void)
{
    print_usage(stdout);
    printf("Serves web applications written in C to a FastCGI front end such as nginx.\n\n"
           "  -c FILE  the configuration (" DEFAULT_CONFIGURATION ")\n"
           "  -n       check the configuration, open every application, and exit 0 or 1\n"
           "  -d       debug: one process, one lane, no watchdog, no time limits, no change of user\n"
           "  -V       print the version\n"
           "  -h       print this help\n\n"
           "Sockets come from systemd (LISTEN_FDS), else descriptor 0 when it listens, else the configuration.\n"
           "Signals: TERM drain and stop, INT and QUIT stop at once, USR1 reopen the log.\n"
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
    if (optind < argc) {
        fprintf(stderr, "millrace: unexpected argument '%s' (see millrace -h)\n", argv[optind]);
        exit(MASTER_EXIT_BAD_USAGE);
    }
    return command;
}

static int open_log(const struct config *config)
{
    if (config->log == NULL || log_open(config->log) == 0)
        return 0;
    fprintf(stderr, "millrace: cannot open the log %s: %s\n", config->log, strerror(errno));
    return -1;
}

/* Whoever starts the server and waits for its pid file says where, whatever the configuration says; and the web
 * server's addresses come by the environment in the FastCGI specification. Returns 0, −1 when that is no list of them.
 */
static int take_environment(struct config *config)
{
    const char *web_servers = getenv("FCGI_WEB_SERVER_ADDRS");
    const char *why = peers_parse(&config->settings.peers, web_servers);
    if (why != NULL) {
        fprintf(stderr, "millrace: FCGI_WEB_SERVER_ADDRS '%s': %s\n", web_servers, why);
        return -1;
    }
    const char *pid_file = getenv("MILLRACE_PID_FILE");
    if (pid_file != NULL && pid_file[0] != '\0')
        config->pid_file = pid_file;
    unsetenv("MILLRACE_PID_FILE"); /* not for what handlers execute; the text itself stays */
    return 0;
}

int main(int argc, char **argv)
{
    struct command command = read_command(argc, argv);
    static struct config config;
    static struct sockets sockets;
    /* The log may be a pipe whose reader leaves. */
    static const int disregarded[] = {SIGPIPE, 0};
    signals_disregard(disregarded);
    sockets_close_strangers();
    if (config_read(&config, command.configuration) < 0)
        return MASTER_EXIT_CANNOT_START;
    if (take_environment(&config) < 0 || verify_applications(&config.settings) < 0)
        return MASTER_EXIT_CANNOT_START;
    if (command.check_only) {
        printf("%s: the configuration and every application are in order\n", command.configuration);
        config_fini(&config);
        return 0;
    }
    if (pid_file_check(config.pid_file) < 0) {
        fprintf(stderr, "millrace: cannot write pid_file %s: %s\n", config.pid_file, strerror(errno));
        return MASTER_EXIT_CANNOT_START;
    }
    if (sockets_open(&sockets, &config) < 0)
        return MASTER_EXIT_CANNOT_START;
    if (open_log(&config) < 0) {
        sockets_close(&sockets);
        return MASTER_EXIT_CANNOT_START;
    }
    if (command.debug)
        master_debug(&config, &sockets);
    int status = master_run(&config, &sockets);
    config_fini(&config);
    return status;
}
