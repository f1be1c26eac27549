/*
 * crash.c: the handler of deadly signals. Whatever it calls must be safe in a signal handler of a process whose memory
 * may be in any state: it writes raw addresses, and a child of the master finds out what they mean.
 */
#include "serve/crash.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/activity.h"
#include "serve/request.h"
#include "serve/worker.h"

#define STACK_BYTES   (64 * 1024)
#define CHAIN_MAX     16
#define CHAIN_BYTES   (1024 * 1024)
#define ALARM_SECONDS 2 /* should unwinding meet a lock that the crashed code holds */

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
#define SIGNAL_COUNT (sizeof crash_signals / sizeof crash_signals[0])

static struct sigaction crash_before[SIGNAL_COUNT];
static struct worker *crash_worker;
static pid_t crash_process; /* a child that a handler forks crashes for itself alone */
static _Atomic bool crash_begun;

/* The registers that matter. */
struct registers {
    uintptr_t at, stack, frame;
    uintptr_t caller; /* where a function that has just been called returns to, 0: unknown */
};

static struct registers registers_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    const greg_t *all = context->uc_mcontext.gregs;
    uintptr_t stack = (uintptr_t)all[REG_RSP];
    return (struct registers){.at = (uintptr_t)all[REG_RIP], .stack = stack, .frame = (uintptr_t)all[REG_RBP]};
#elif defined(__aarch64__)
    const mcontext_t *all = &context->uc_mcontext;
    return (struct registers){.at = all->pc, .stack = all->sp, .frame = all->regs[29], .caller = all->regs[30]};
#else
    (void)context;
    return (struct registers){0};
#endif
}

static void copy(char *to, const char *from, size_t room)
{
    size_t length = 0;
    for (; length + 1 < room && from[length] != '\0'; length++)
        to[length] = from[length];
    to[length] = '\0';
}

static void write_request(struct scoreboard_crash *crash, const struct request *request)
{
    crash->route = request == NULL ? -1 : request->route->number;
    if (request == NULL)
        return;
    crash->request = request->number;
    copy(crash->method, request->method, sizeof crash->method);
    copy(crash->uri, request->uri, sizeof crash->uri);
}

static void add_frame(struct scoreboard_crash *crash, uintptr_t address)
{
    if (crash->frame_count < SCOREBOARD_FRAMES)
        crash->frames[crash->frame_count++] = address;
}

/* Nothing says how to unwind from what is no code, as after a call through a bad pointer: its caller is on the stack,
 * the others are in the chain of frame pointers, as far as there is one. */
static void follow_frame_pointers(struct scoreboard_crash *crash, const struct registers *registers)
{
    uintptr_t frame = registers->frame, stack = registers->stack;
    add_frame(crash, registers->caller != 0 ? registers->caller : *(uintptr_t *)stack);
    for (int i = 0; i < CHAIN_MAX && frame > stack && frame - stack < CHAIN_BYTES && frame % sizeof frame == 0; i++) {
        const uintptr_t *pair = (const uintptr_t *)frame;
        add_frame(crash, pair[1]);
        stack = frame;
        frame = pair[0];
    }
}

/* What lies above the crashed frame is this handler. */
static void write_frames(struct scoreboard_crash *crash, const struct registers *registers)
{
    void *frames[SCOREBOARD_FRAMES];
    int count = backtrace(frames, SCOREBOARD_FRAMES), first = 0;
    while (first < count && (uintptr_t)frames[first] != registers->at)
        first++;
    add_frame(crash, registers->at);
    if (first + 1 >= count)
        follow_frame_pointers(crash, registers);
    for (first++; first < count; first++)
        add_frame(crash, (uintptr_t)frames[first]);
}

static void write_maps(struct scoreboard_crash *crash)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t got;
    while (fd >= 0 && crash->maps_length < sizeof crash->maps &&
           (got = read(fd, crash->maps + crash->maps_length, sizeof crash->maps - crash->maps_length)) > 0)
        crash->maps_length += (size_t)got;
}

static void blame(const struct request *request)
{
    if (crash_worker != NULL && request != NULL && request->fcgx.envp != NULL)
        ledger_add_crash(crash_worker->start.ledger, ledger_fingerprint(request->fcgx.envp), clock_now_us());
}

/* A thread that some handler has made has crashed: it may have been any. A signal that somebody has sent is nobody's fault. */
static void blame_all(const siginfo_t *info)
{
    if (info->si_code <= 0 && info->si_pid != crash_process)
        return;
    for (int i = 1; i <= settings_pool_room(crash_worker->settings); i++)
        blame(activity_request_of(i));
}

/* The plainest facts first: anything of this may crash again, which ends the process. */
static void write_crash(int number, const siginfo_t *info, const ucontext_t *context)
{
    struct scoreboard_crash *crash = &crash_worker->slot->crash;
    const struct request *request = activity_request();
    const struct registers registers = registers_of(context);
    crash->thread = activity_thread();
    crash->has_address = info->si_code > 0 && (number == SIGSEGV || number == SIGBUS);
    crash->address = (uintptr_t)info->si_addr;
    crash->route = -1;
    atomic_store(&crash->signal, number);
    write_request(crash, request);
    crash_blame_request();
    crash->frames[0] = registers.at;
    write_maps(crash);
    write_frames(crash, &registers);
    if (activity_thread() == 0)
        blame_all(info);
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    if (getpid() == crash_process && !atomic_exchange(&crash_begun, true)) {
        alarm(ALARM_SECONDS);
        write_crash(number, info, context);
    }
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaction(crash_signals[i], &crash_before[i], NULL);
    errno = saved_errno;
    if (info->si_code <= 0) /* sent by a process: it would not come again by itself */
        raise(number);
}

void crash_init(struct worker *worker)
{
    void *frames[4];
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    crash_worker = worker;
    crash_process = getpid();
    (void)backtrace(frames, 4); /* loads the unwinder now, which a signal handler could not */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaction(crash_signals[i], &action, &crash_before[i]);
    crash_prepare_thread();
}

void crash_prepare_thread(void)
{
    stack_t stack = {.ss_size = STACK_BYTES};
    stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack.ss_sp != MAP_FAILED)
        sigaltstack(&stack, NULL); /* lasts as long as the thread, which is as long as the process */
}

void crash_blame_request(void)
{
    blame(activity_request());
}
