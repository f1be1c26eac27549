/*
 * sockets.c: collects the listening sockets. Runs in the master at start.
 */
#include "control/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define SYSTEMD_FIRST_FD 3

static int fault(const char *text)
{
    fprintf(stderr, "millrace: %s\n", text);
    return -1;
}

/* sd_listen_fds(3): LISTEN_PID names the process that the sockets are for. Returns how many, 0 when there are none. */
static int count_from_systemd(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    long number = strtol(count, NULL, 10);
    return number < 0 || number > CONFIG_LISTENERS_MAX ? CONFIG_LISTENERS_MAX + 1 : (int)number;
}

void sockets_close_strangers(void)
{
    int kept = count_from_systemd();
    (void)close_range(SYSTEMD_FIRST_FD + (kept > CONFIG_LISTENERS_MAX ? 0 : (unsigned)kept), ~0U, 0);
}

static int adopt_from_systemd(struct sockets *sockets, int count)
{
    if (count > CONFIG_LISTENERS_MAX)
        return fault("LISTEN_FDS names more sockets than the 16 that are possible");
    for (int i = 0; i < count; i++) {
        if (listener_adopt(&sockets->listeners[i], SYSTEMD_FIRST_FD + i) < 0)
            return fault("a descriptor of LISTEN_FDS is no listening socket: check the socket unit");
        sockets->count++;
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return 0;
}

/* The FastCGI convention. Descriptor 0 becomes /dev/null, so that nothing that is executed gets the socket.
 * Returns 1 when it was a listening socket, 0 when not, −1 with a line. */
static int adopt_descriptor_0(struct sockets *sockets)
{
    struct listener probe;
    if (listener_adopt(&probe, STDIN_FILENO) < 0)
        return 0;
    int moved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (moved < 0 || empty < 0 || dup2(empty, STDIN_FILENO) < 0) {
        fprintf(stderr, "millrace: cannot take over descriptor 0: %s\n", strerror(errno));
        return -1;
    }
    close(empty);
    probe.fd = moved;
    if (!address_is_local(&probe.address) || probe.address.socket.local.sun_path[0] == '\0')
        snprintf(probe.address.text, sizeof probe.address.text, "descriptor 0");
    sockets->listeners[0] = probe;
    sockets->count = 1;
    return 1;
}

static int bind_configured(struct sockets *sockets, const struct config *config)
{
    char why[LISTENER_WHY_BYTES];
    if (config->fastcgi_count == 0)
        return fault("no listener: add fastcgi = { \"unix:/path\" } to the configuration, or start through spawn-fcgi");
    for (int i = 0; i < config->fastcgi_count; i++) {
        if (listener_open(&sockets->listeners[i], &config->fastcgi[i], &config->socket_rules, why) < 0)
            return fault(why);
        sockets->count++;
    }
    return 0;
}

int sockets_open(struct sockets *sockets, const struct config *config)
{
    sockets->count = 0;
    int inherited = count_from_systemd();
    int result = 0;
    if (inherited > 0) {
        result = adopt_from_systemd(sockets, inherited);
    } else {
        int taken = adopt_descriptor_0(sockets);
        result = taken < 0 ? -1 : taken == 0 ? bind_configured(sockets, config) : 0;
    }
    if (result < 0)
        sockets_close(sockets);
    return result;
}

void sockets_close(struct sockets *sockets)
{
    for (int i = 0; i < sockets->count; i++)
        listener_close(&sockets->listeners[i]);
    sockets->count = 0;
}

static int somaxconn(void)
{
    int value = 4096;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &value) != 1)
            value = 4096;
        fclose(file);
    }
    return value;
}

void sockets_log(const struct sockets *sockets, int backlog)
{
    int effective = backlog < somaxconn() ? backlog : somaxconn();
    for (int i = 0; i < sockets->count; i++) {
        const struct listener *listener = &sockets->listeners[i];
        if (listener->made)
            log_info("listen", "listening on %s, backlog %d", listener->address.text, effective);
        else
            log_info("listen", "listening on %s, inherited", listener->address.text);
        if (!address_is_local(&listener->address) && !address_is_loopback(&listener->address))
            log_warning("listen",
                        "%s can be reached from other machines, and FastCGI knows no passwords: whoever reaches it "
                        "can send any request (see FCGI_WEB_SERVER_ADDRS in millrace(8))",
                        listener->address.text);
    }
}
