/*
 * thread_copy.c: stops a thread, copies what unwinding needs, lets it go. Runs in a short-lived child of the master.
 * It does not unwind: that reads files, and the thread must not stand still for it.
 */
#include "control/thread_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"

#define STACK_BYTES_MAX (1024 * 1024)
#define STOP_LIMIT_US   (500 * CLOCK_MS)

/* The kernel's own code for "to be repeated, unless a signal handler has run"; user space has no header for it. */
#define ERESTARTNOHAND 514

#if defined __x86_64__

/* The calls that return EINTR at every stop instead of being repeated. Source: signal(7), "Interruption of system calls
 * and library functions by stop signals". None of them has done anything yet when it returns EINTR. */
static bool is_repeatable(unsigned long long call)
{
    static const unsigned short calls[] = {
        SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_read,       SYS_readv,           SYS_recvfrom,
        SYS_recvmsg,    SYS_recvmmsg,    SYS_write,        SYS_writev,     SYS_sendto,          SYS_sendmsg,
        SYS_accept,     SYS_accept4,     SYS_semop,        SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents,
    };
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* A call that our stop has interrupted is told to begin again. When a handler of a signal is about to run as well, the
 * kernel makes EINTR of it, as without us. */
static void repeat_call(pid_t thread, const struct user_regs_struct *registers)
{
    if ((long long)registers->rax == -EINTR && is_repeatable(registers->orig_rax))
        ptrace(PTRACE_POKEUSER, thread, offsetof(struct user, regs.rax), (long)-ERESTARTNOHAND);
}

/* A thread's own memory, where fs points, lies at the upper end of its stack; that of the first thread is elsewhere. */
static size_t stack_bytes_of(const struct user_regs_struct *registers)
{
    unsigned long long bytes = registers->fs_base - registers->rsp; /* huge when fs points below */
    return bytes < STACK_BYTES_MAX ? (size_t)bytes : STACK_BYTES_MAX;
}

/* Sets `stack_bytes` to what is worth copying as well. */
static int copy_registers(struct thread_copy *copy, pid_t thread)
{
    struct user_regs_struct from;
    if (ptrace(PTRACE_GETREGS, thread, NULL, &from) < 0)
        return -1;
    const uint64_t registers[THREAD_COPY_REGISTERS] = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi,
                                                    from.rbp, from.rsp, from.r8,  from.r9,  from.r10, from.r11,
                                                    from.r12, from.r13, from.r14, from.r15, from.rip};
    memcpy(copy->registers, registers, sizeof registers);
    copy->stack_bytes = stack_bytes_of(&from);
    repeat_call(thread, &from);
    return 0;
}

#else

static int copy_registers(struct thread_copy *copy, pid_t thread)
{
    (void)copy, (void)thread;
    errno = ENOTSUP;
    return -1;
}

#endif

/* SIGCHLD is blocked, so that one which comes between looking and waiting is not lost. */
static int await_stop(pid_t thread, int *status)
{
    sigset_t child;
    int64_t until_us = clock_now_us() + STOP_LIMIT_US;
    pid_t found;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while ((found = waitpid(thread, status, __WALL | WNOHANG)) == 0) {
        int64_t left_us = until_us - clock_now_us();
        if (left_us <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        struct timespec left = {.tv_sec = left_us / CLOCK_SECOND, .tv_nsec = left_us % CLOCK_SECOND * 1000};
        (void)sigtimedwait(&child, NULL, &left);
    }
    errno = ESRCH;
    return found == thread && WIFSTOPPED(*status) ? 0 : -1;
}

/* The stop may be that of a signal on its way to the thread; it is handed on. */
static int let_go(pid_t thread, int status)
{
    bool is_signal = status >> 16 == 0;
    return (int)ptrace(PTRACE_DETACH, thread, NULL, (long)(is_signal ? WSTOPSIG(status) : 0));
}

static void copy_stack(struct thread_copy *copy, int memory)
{
    ssize_t got = pread(memory, copy->stack, copy->stack_bytes, (off_t)copy->registers[THREAD_COPY_SP]);
    copy->stack_bytes = got < 0 ? 0 : (size_t)got;
}

static int copy_stopped(struct thread_copy *copy, pid_t thread, int memory)
{
    int status;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0 ||
        await_stop(thread, &status) < 0)
        return -1;
    int result = copy_registers(copy, thread), error = errno;
    if (result == 0)
        copy_stack(copy, memory);
    (void)let_go(thread, status); /* fails only for a thread that has been killed in the meantime */
    errno = error;
    return result;
}

static int open_memory(pid_t process, pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/mem", (int)process, (int)thread);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    if (memory < 0 && errno == ENOENT)
        errno = ESRCH;
    if (memory < 0 && errno == EACCES)
        errno = EPERM;
    return memory;
}

int thread_copy_init(struct thread_copy *copy, pid_t process, pid_t thread)
{
    sigset_t child, before;
    *copy = (struct thread_copy){.stack = malloc(STACK_BYTES_MAX)};
    int memory = copy->stack == NULL ? -1 : open_memory(process, thread);
    if (memory < 0) {
        thread_copy_fini(copy);
        return -1;
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    int result = copy_stopped(copy, thread, memory), error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(memory);
    if (result < 0)
        thread_copy_fini(copy);
    errno = error;
    return result;
}

void thread_copy_fini(struct thread_copy *copy)
{
    int error = errno;
    free(copy->stack);
    copy->stack = NULL;
    errno = error;
}
