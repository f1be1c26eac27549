/* child.c: programs that a run starts and waits for; see child.h. */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"

#define TICK_MS 100

static int interrupts_fd = -1;
static bool interrupted;

static void interrupt_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

int child_interrupts_begin(void)
{
    sigset_t set;
    interrupt_set(&set);
    interrupts_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return interrupts_fd < 0 ? -1 : sigprocmask(SIG_BLOCK, &set, NULL);
}

bool child_interrupted(void)
{
    struct signalfd_siginfo info;
    while (interrupts_fd >= 0 && read(interrupts_fd, &info, sizeof info) == (ssize_t)sizeof info)
        interrupted = true;
    return interrupted;
}

void child_sleep(int64_t us)
{
    int64_t until_us = clock_now_us() + us;
    while (!child_interrupted() && clock_now_us() < until_us) {
        struct pollfd waiting = {.fd = interrupts_fd, .events = POLLIN};
        poll(&waiting, 1, clock_ms_of(until_us - clock_now_us()));
    }
}

/* -- the start
 * ------------------------------------------------------------------------------------------------------------ */

static int to_file(const char *path, int target)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    return fd < 0 ? -1 : dup2(fd, target);
}

/* In the child: becomes the program, or tells why not. */
static void become(const struct child_plan *plan, int error_fd)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && to_file(plan->out, STDOUT_FILENO) >= 0 &&
        to_file(plan->err, STDERR_FILENO) >= 0 &&
        (plan->cpus == NULL || sched_setaffinity(0, sizeof *plan->cpus, plan->cpus) == 0))
        execvpe(plan->argv[0], plan->argv, plan->environment);
    int error = errno;
    ssize_t told = write(error_fd, &error, sizeof error);
    _exit(told == sizeof error ? 127 : 126);
}

void child_start(struct child *child, const struct child_plan *plan)
{
    *child = (struct child){.fd = -1, .start_us = clock_now_us(), .despite_interrupts = plan->despite_interrupts};
    int told[2];
    if (pipe2(told, O_CLOEXEC) < 0) {
        child->error = errno;
        return;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(plan, told[1]);
    child->error = pid < 0 ? errno : 0;
    close(told[1]);
    if (pid > 0) {
        setpgid(pid, pid);
        child->pid = pid;
        int error;
        if (read(told[0], &error, sizeof error) == (ssize_t)sizeof error) {
            child->error = error;
            waitpid(pid, NULL, 0);
            child->pid = 0;
        }
    }
    close(told[0]);
    if (child->pid > 0)
        child->fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    CHECK(child->pid == 0 || child->fd >= 0);
}

/* -- the end
 * -------------------------------------------------------------------------------------------------------------- */

/* Returns whether it ended before the time was over. */
static bool ends_before(const struct child *child, int64_t until_us, bool heed_interrupts, void (*tick)(void *),
                        void *of)
{
    struct pollfd waiting[2] = {{.fd = child->fd, .events = POLLIN}, {.fd = interrupts_fd, .events = POLLIN}};
    for (;;) {
        int64_t left_us = until_us - clock_now_us();
        if (left_us <= 0)
            return false;
        int wait_ms = clock_ms_of(left_us) < TICK_MS ? clock_ms_of(left_us) : TICK_MS;
        int ready = poll(waiting, heed_interrupts && interrupts_fd >= 0 ? 2 : 1, wait_ms);
        if (ready > 0 && waiting[0].revents != 0)
            return true;
        if (heed_interrupts && child_interrupted())
            return false;
        if (tick != NULL)
            tick(of);
    }
}

static void collect(struct child *child, struct child_end *end)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(child->pid, &status, 0)) < 0 && errno == EINTR)
        continue;
    end->end_us = clock_now_us();
    end->exit = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    close(child->fd);
    *child = (struct child){.fd = -1};
}

void child_wait(struct child *child, int64_t limit_us, int64_t grace_us, void (*tick)(void *), void *of,
                struct child_end *end)
{
    *end = (struct child_end){.started = child->pid > 0,
                              .error = child->error,
                              .exit = -1,
                              .start_us = child->start_us,
                              .end_us = child->start_us};
    if (child->pid == 0)
        return;
    pid_t group = child->pid;
    if (!ends_before(child, child->start_us + limit_us, !child->despite_interrupts, tick, of)) {
        end->timed_out = child->despite_interrupts || !child_interrupted();
        kill(-group, SIGTERM);
        if (!ends_before(child, clock_now_us() + grace_us, false, tick, of))
            kill(-group, SIGKILL);
    }
    collect(child, end);
    if (end->timed_out || end->signal != 0)
        kill(-group, SIGKILL); /* what it may have left */
}
