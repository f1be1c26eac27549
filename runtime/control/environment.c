/*
 * environment.c: variables. Runs in the master.
 */
#include "control/environment.h"

#include <stdio.h>
#include <stdlib.h>

#define PID_FILE    "MILLRACE_PID_FILE"
#define LOG         "MILLRACE_LOG"
#define WEB_SERVERS "FCGI_WEB_SERVER_ADDRS"

/* Their texts stay where they are when the variables are taken out. */
static const char *environment_pid_file, *environment_log;

static const char *take(const char *name)
{
    const char *value = getenv(name);
    unsetenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void environment_init(void)
{
    environment_pid_file = take(PID_FILE);
    environment_log = take(LOG);
}

/* The web server's addresses come by the environment in the FastCGI specification, section 3.2. */
int environment_apply(struct config *config, config_report report)
{
    char text[600];
    const char *web_servers = getenv(WEB_SERVERS);
    const char *why = peers_parse(&config->settings.peers, web_servers);
    if (why != NULL) {
        snprintf(text, sizeof text, WEB_SERVERS " '%.400s': %s", web_servers, why);
        report(text);
        return -1;
    }
    /* Whoever starts the server and waits for its pid file says where, whatever the configuration says. */
    if (environment_pid_file != NULL)
        config->pid_file = environment_pid_file;
    /* Where whoever starts it has pointed standard error: by its name it can be opened again. */
    if (config->log == NULL)
        config->log = environment_log;
    return 0;
}

void environment_pass_on(void)
{
    if (environment_pid_file != NULL)
        setenv(PID_FILE, environment_pid_file, 1);
    if (environment_log != NULL)
        setenv(LOG, environment_log, 1);
}
