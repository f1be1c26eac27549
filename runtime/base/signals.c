/*
 * signals.c: the handlers and the pipe behind signals.h. Used by the master and, in debug mode, by the only process.
 */
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static int pipe_ends[2] = {-1, -1};
static pid_t owner;
static const int *opened; /* what signals_open was given */

static void pass_on(int number)
{
    int saved_errno = errno;
    if (getpid() != owner) {
        signal(number, SIG_DFL);
        raise(number);
    } else {
        unsigned char byte = (unsigned char)number;
        ssize_t written = write(pipe_ends[1], &byte, 1); /* A full pipe holds enough news already. */
        (void)written;
    }
    errno = saved_errno;
}

static void do_nothing(int number)
{
    (void)number;
}

static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

int signals_open(const int *numbers)
{
    if (pipe_ends[0] >= 0) { /* inherited from the parent: its end must not be shared */
        close(pipe_ends[0]);
        close(pipe_ends[1]);
    }
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    owner = getpid();
    opened = numbers;
    for (; *numbers != 0; numbers++)
        set_handler(*numbers, pass_on);
    return pipe_ends[0];
}

int signals_next(void)
{
    unsigned char byte;
    return read(pipe_ends[0], &byte, 1) == 1 ? byte : 0;
}

void signals_reset_all(void)
{
    for (const int *number = opened; number != NULL && *number != 0; number++)
        set_handler(*number, SIG_DFL);
}

void signals_disregard(const int *numbers)
{
    for (; *numbers != 0; numbers++)
        set_handler(*numbers, do_nothing);
}
