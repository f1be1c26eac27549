/* test_backtrace.c: names in backtraces of processes that have died, and of threads that live on undisturbed. */
#include <CUnit/CUnit.h>

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <millrace.h>

#include "base/clock.h"
#include "control/backtrace.h"
#include "control/mapping.h"
#include "suite.h"

#define NOT_INLINE  __attribute__((noinline, noclone))
#define LOOKS_COUNT 5

#ifdef __SANITIZE_THREAD__ /* which makes looking ten times as slow */
#define WAIT_MS 4000
#else
#define WAIT_MS 1000
#endif

static const struct backtrace_objects no_objects;

/* -- what a process leaves when it dies ------------------------------------------------------------------------------
 */

struct remains {
    size_t count, maps_length;
    uintptr_t addresses[64];
    char maps[128 * 1024];
};

static struct remains *remains; /* shared with the children */

static void keep_maps(void)
{
    ssize_t got;
    int fd = open("/proc/self/maps", O_RDONLY);
    remains->maps_length = 0;
    while ((got = read(fd, remains->maps + remains->maps_length, sizeof remains->maps - remains->maps_length)) > 0)
        remains->maps_length += (size_t)got;
    close(fd);
}

static void die_of_signal(int number, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;
    uintptr_t pc = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    size_t count = (size_t)backtrace((void **)remains->addresses, 64);
    size_t first = backtrace_begin(remains->addresses, count, pc);
    remains->count = count - first;
    memmove(remains->addresses, remains->addresses + first, remains->count * sizeof(uintptr_t));
    keep_maps();
    _exit(1);
}

static inline __attribute__((always_inline)) void is_inside_another(void)
{
    __builtin_trap();
}
enum { TRAP_LINE = __LINE__ - 2 };

static NOT_INLINE _Noreturn void never_comes_back(void)
{
    is_inside_another();
    _exit(2);
}

/* Its last instruction is a call: the return address is outside of it. */
static NOT_INLINE _Noreturn void ends_in_a_call(void)
{
    never_comes_back();
}
enum { CALL_LINE = __LINE__ - 2 };

static void trap(void)
{
    void *once[4];
    struct sigaction action = {.sa_sigaction = die_of_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    (void)backtrace(once, 4); /* loads what it needs */
    ends_in_a_call();
}

/* Runs `death` in a child and returns when it has died. */
static void leave_remains(void (*death)(void))
{
    if (remains == NULL)
        remains = mmap(NULL, sizeof *remains, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(remains, MAP_FAILED);
    remains->count = remains->maps_length = 0;
    pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        death();
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CU_ASSERT_FATAL(remains->count > 0 && remains->maps_length > 0);
}

static struct span maps_of_remains(void)
{
    return span_of(remains->maps, remains->maps_length);
}

static void expect(const struct backtrace *result, const char *part)
{
    SUITE_CHECK(strstr(result->text, part) != NULL, "no \"%s\" in \"%s\"", part, result->text);
    CU_ASSERT_EQUAL(result->length, strlen(result->text));
    CU_ASSERT(strpbrk(result->text, "\r\n") == NULL);
}

static void dead_static_functions(void)
{
    struct backtrace result;
    char beginning[256];
    leave_remains(trap);
    backtrace_of_dead(maps_of_remains(), &no_objects, remains->addresses, remains->count, &result);
    snprintf(beginning, sizeof beginning,
             "is_inside_another at test_backtrace.c:%d < never_comes_back at test_backtrace.c:%d < "
             "ends_in_a_call at test_backtrace.c:%d < trap at test_backtrace.c:",
             TRAP_LINE, TRAP_LINE + 6, CALL_LINE);
    expect(&result, beginning);
    SUITE_CHECK(strncmp(result.text, beginning, strlen(beginning)) == 0, "%s", result.text);
    expect(&result, " < suite_main at suite.c:");
    expect(&result, " in test_backtrace"); /* _start has no line, and must not get that of a neighbour */
}

static void a_crash_at_nowhere(void)
{
    struct backtrace result;
    leave_remains(trap);
    remains->addresses[0] = 0;
    backtrace_of_dead(maps_of_remains(), &no_objects, remains->addresses, remains->count, &result);
    SUITE_CHECK(strncmp(result.text, "0x0 < ends_in_a_call at ", 24) == 0, "%s", result.text);
}

/* -- objects in memory -----------------------------------------------------------------------------------------------
 */

static int memfd_of(const char *name)
{
    char path[512], block[65536];
    ssize_t got;
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/tests/apps/%s", build == NULL ? "build" : build, name);
    int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    SUITE_CHECK(from >= 0 && to >= 0, "%s: %s", path, strerror(errno));
    while ((got = read(from, block, sizeof block)) > 0)
        CU_ASSERT_EQUAL_FATAL(write(to, block, (size_t)got), got);
    close(from);
    CU_ASSERT_EQUAL_FATAL(fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    return to;
}

static int loaded_fd;

static void load_and_die(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", loaded_fd);
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const struct mr_app *app = handle == NULL ? NULL : dlsym(handle, "mr_app");
    if (app == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return;
    }
    remains->addresses[0] = (uintptr_t)app->handle;
    remains->addresses[1] = (uintptr_t)app->handle + 5;
    remains->count = 2;
    keep_maps();
}

static void dead_objects_in_memory(void)
{
    struct backtrace result;
    loaded_fd = memfd_of("crash.so");
    int other_fd = memfd_of("crash.so");
    const struct backtrace_object both[] = {{"crash.so", other_fd}, {"crash.so", loaded_fd}};
    leave_remains(load_and_die);
    backtrace_of_dead(maps_of_remains(), &(struct backtrace_objects){both, 2}, remains->addresses, 2, &result);
    SUITE_CHECK(strncmp(result.text, "crash at crash.c:8 < crash at crash.c:", 38) == 0, "%s", result.text);
    CU_ASSERT_EQUAL(result.frames, 2);
    backtrace_of_dead(maps_of_remains(), &(struct backtrace_objects){both, 1}, remains->addresses, 2, &result);
    SUITE_CHECK(strncmp(result.text, "crash.so+0x", 11) == 0, "of another load: %s", result.text);
    CU_ASSERT(fcntl(loaded_fd, F_GETFD) >= 0);
    close(loaded_fd);
    close(other_fd);
}

/* -- odd input
 * --------------------------------------------------------------------------------------------------------- */

static void maps_cut_off_anywhere(void)
{
    struct backtrace result;
    struct mapping mapping;
    leave_remains(trap);
    for (size_t length = 0; length < remains->maps_length; length++)
        (void)mapping_find(span_of(remains->maps, length), UINTPTR_MAX, &mapping);
    for (size_t i = 0; i < 40; i++) {
        struct span part = span_of(remains->maps, remains->maps_length * i / 40);
        backtrace_of_dead(part, &no_objects, remains->addresses, remains->count, &result);
        SUITE_CHECK(result.frames >= (int)remains->count, "%s", result.text);
    }
}

static void garbage(void)
{
    static const uintptr_t addresses[] = {1, 0, UINTPTR_MAX, 0x8000000000000000, 4096};
    static const char text[] = "nonsense\n1-0 r-xp 0 0:0 0 /x\n\n\n4-3\n0-ffffffffffffffff r-xp 0 0:0\nzzzz";
    struct backtrace result;
    const char *expected = "0x1 < 0x0 < 0xffffffffffffffff < 0x8000000000000000 < 0x1000";
    backtrace_of_dead(span_text(text), &no_objects, addresses, SUITE_COUNT(addresses), &result);
    CU_ASSERT_STRING_EQUAL(result.text, expected);
    backtrace_of_dead(span_of(NULL, 0), &no_objects, addresses, SUITE_COUNT(addresses), &result);
    CU_ASSERT_STRING_EQUAL(result.text, expected);
}

static void files_that_are_no_objects(void)
{
    static const uintptr_t addresses[] = {0x1010, 0x3010, 0x5010, 0x7010, 0x9010};
    static const char text[] = "1000-2000 r-xp 00000000 08:01 5 /no/such/file.so\n"
                               "3000-4000 r-xp 00000000 08:01 6 /etc/passwd\n"
                               "5000-6000 r-xp 00000000 08:01 7 /usr/lib/old.so.1 (deleted)\n"
                               "7000-8000 r-xp 00000000 00:01 8 /memfd:none.so (deleted)\n"
                               "9000-a000 r-xp 00000000 00:01 9 /dev/tty\n";
    struct backtrace result;
    backtrace_of_dead(span_text(text), &no_objects, addresses, SUITE_COUNT(addresses), &result);
    CU_ASSERT_STRING_EQUAL(result.text, "file.so+0x10 < passwd+0x10 < old.so.1+0x10 < none.so+0x10 < tty+0x10");
}

static void no_frames(void)
{
    struct backtrace result;
    backtrace_of_dead(span_of(NULL, 0), &no_objects, NULL, 0, &result);
    CU_ASSERT_STRING_EQUAL(result.text, "");
    CU_ASSERT_EQUAL(result.frames, 0);
    CU_ASSERT_EQUAL(result.length, 0);
}

static void too_many_frames(void)
{
    static const char text[] =
        "1000-2000 r-xp 00000000 08:01 5 /x/a_file_whose_name_is_so_long_that_32_of_them_do_not_fit\n";
    struct backtrace result;
    uintptr_t addresses[100] = {0};
    backtrace_of_dead(span_of(NULL, 0), &no_objects, addresses, 32, &result);
    CU_ASSERT(result.frames == 32 && !result.cut && strstr(result.text, "...") == NULL);
    backtrace_of_dead(span_of(NULL, 0), &no_objects, addresses, 100, &result);
    CU_ASSERT(result.frames == 32 && result.cut);
    CU_ASSERT_STRING_EQUAL(result.text + result.length - 9, "0x0 < ...");
    for (size_t i = 0; i < SUITE_COUNT(addresses); i++)
        addresses[i] = 0x1500;
    backtrace_of_dead(span_text(text), &no_objects, addresses, 100, &result);
    CU_ASSERT(result.frames < 32 && result.cut && result.length < BACKTRACE_TEXT_BYTES);
    CU_ASSERT_STRING_EQUAL(result.text + result.length - 6, " < ...");
}

static void lines_of_maps(void)
{
    static const char text[] = "400000-401000 r--p 00000000 08:01 77   /opt/a b/lib x.so\n"
                               "401000-402000 r-xp 00001000 08:01 77   /opt/a b/lib x.so\n"
                               "402000-403000 rw-p 00000000 00:00 0 \n"
                               "403000-404000 rw-p 00001000 08:01 77   /opt/a b/lib x.so\n"
                               "500000-501000 r-xp 00000000 00:01 78   /memfd:hello.so (deleted)\n"
                               "600000-601000 r-xp 00003000 08:01 79   /y.so (deleted)\n"
                               "700000-701000 rw-p 00000000 00:00 0    [stack]\n";
    static const struct {
        uintptr_t address, base;
        const char *name;
        bool executable, memfd, deleted;
    } cases[] = {
        {0x400000, 0x400000, "lib x.so", false, false, false}, {0x401fff, 0x400000, "lib x.so", true, false, false},
        {0x402000, 0x402000, "", false, false, false},         {0x403000, 0x400000, "lib x.so", false, false, false},
        {0x500000, 0x500000, "hello.so", true, true, true},    {0x600000, 0x5fd000, "y.so", true, false, true},
        {0x700000, 0x700000, "[stack]", false, false, false},
    };
    struct mapping mapping;
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        CU_ASSERT_FATAL(mapping_find(span_text(text), cases[i].address, &mapping));
        CU_ASSERT_STRING_EQUAL(mapping.name, cases[i].name);
        SUITE_CHECK(mapping.base == cases[i].base && mapping.executable == cases[i].executable &&
                        mapping.memfd == cases[i].memfd && mapping.deleted == cases[i].deleted,
                    "line of 0x%lx", (unsigned long)cases[i].address);
    }
    CU_ASSERT_FALSE(mapping_find(span_text(text), 0x404000, &mapping));
}

/* -- the living
 * ---------------------------------------------------------------------------------------------------------- */

struct outcome {
    ssize_t result;
    int error;
    int64_t span_us;
};

static int input[2], outcomes[2], numbers[2]; /* pipes */

static NOT_INLINE ssize_t waits_in_nanosleep(void)
{
    struct timespec span = {.tv_sec = WAIT_MS / 1000};
    ssize_t result = nanosleep(&span, NULL);
    return result;
}

static NOT_INLINE ssize_t waits_in_poll(void)
{
    struct pollfd one = {.fd = input[0], .events = POLLIN};
    ssize_t result = poll(&one, 1, WAIT_MS);
    return result;
}

static NOT_INLINE ssize_t waits_in_read(void)
{
    char byte;
    ssize_t result = read(input[0], &byte, 1);
    return result == 1 ? 0 : -1;
}

static NOT_INLINE ssize_t waits_in_epoll(void)
{
    struct epoll_event event;
    int epoll = epoll_create1(0);
    ssize_t result = epoll_wait(epoll, &event, 1, WAIT_MS);
    return result;
}

static NOT_INLINE ssize_t waits_in_recv(void)
{
    char byte;
    int pair[2];
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0)
        return -1;
    ssize_t result = recv(pair[0], &byte, 1, 0);
    return result < 0 && errno == EAGAIN ? 0 : -1;
}

static NOT_INLINE ssize_t runs_without_a_call(void)
{
    int64_t until_us = clock_now_us() + WAIT_MS * CLOCK_MS;
    while (clock_now_us() < until_us)
        ;
    return 0;
}

static void *wait_in_thread(void *of)
{
    ssize_t (*wait)(void) = *(ssize_t(**)(void))of;
    pid_t number = gettid();
    if (write(numbers[1], &number, sizeof number) != sizeof number)
        _exit(1);
    int64_t begun_us = clock_now_us();
    struct outcome outcome = {.result = wait(), .error = errno};
    outcome.span_us = clock_now_us() - begun_us;
    if (write(outcomes[1], &outcome, sizeof outcome) != sizeof outcome)
        _exit(1);
    return NULL;
}

static pid_t start_waiting(ssize_t (*wait)(void), pid_t *thread)
{
    CU_ASSERT_FATAL(pipe(input) == 0 && pipe(outcomes) == 0 && pipe(numbers) == 0);
    pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        pthread_t one;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&one, NULL, wait_in_thread, &wait) == 0)
            pthread_join(one, NULL);
        _exit(0);
    }
    CU_ASSERT_EQUAL_FATAL(read(numbers[0], thread, sizeof *thread), sizeof *thread);
    return pid;
}

static void close_pipes(void)
{
    for (int i = 0; i < 2; i++) {
        close(input[i]);
        close(outcomes[i]);
        close(numbers[i]);
    }
}

/* Looks until the thread has been seen in the function as often as wanted. */
static bool look(pid_t pid, pid_t thread, const char *name, struct backtrace *result)
{
    int64_t until_us = clock_now_us() + WAIT_MS * CLOCK_MS;
    int seen = 0;
    while (seen < LOOKS_COUNT && clock_now_us() < until_us) {
        if (backtrace_of_thread(pid, thread, &no_objects, result) < 0)
            continue; /* the thread may be on its way into the call */
        seen += strstr(result->text, name) != NULL;
    }
    return seen > 0;
}

static void watch(ssize_t (*wait)(void), const char *name)
{
    struct backtrace result;
    struct outcome outcome;
    pid_t thread, pid = start_waiting(wait, &thread);
    bool seen = look(pid, thread, name, &result);
    int error = errno;
    CU_ASSERT_EQUAL(write(input[1], "x", wait == waits_in_read), wait == waits_in_read);
    CU_ASSERT_EQUAL(read(outcomes[0], &outcome, sizeof outcome), sizeof outcome);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    close_pipes();
    SUITE_CHECK(seen, "no %s in \"%s\": %s", name, result.text, strerror(error));
    SUITE_CHECK(strstr(result.text, " < wait_in_thread at test_backtrace.c:") != NULL, "%s", result.text);
    SUITE_CHECK(outcome.result == 0, "%s returned %zd: %s", name, outcome.result, strerror(outcome.error));
    SUITE_CHECK(wait == waits_in_read || outcome.span_us >= (WAIT_MS - 1) * CLOCK_MS, "%s ended after %d us", name,
                (int)outcome.span_us);
}

static void a_thread_in_nanosleep(void)
{
    watch(waits_in_nanosleep, "waits_in_nanosleep at test_backtrace.c:");
}

static void a_thread_in_poll(void)
{
    watch(waits_in_poll, "waits_in_poll at test_backtrace.c:");
}

static void a_thread_in_read(void)
{
    watch(waits_in_read, "waits_in_read at test_backtrace.c:");
}

static void a_thread_in_epoll_wait(void)
{
    watch(waits_in_epoll, "waits_in_epoll at test_backtrace.c:");
}

static void a_thread_in_recv_with_a_limit(void)
{
    watch(waits_in_recv, "waits_in_recv at test_backtrace.c:");
}

static void a_thread_that_runs(void)
{
    watch(runs_without_a_call, "runs_without_a_call at test_backtrace.c:");
}

static void nobody(void)
{
    struct backtrace result;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CU_ASSERT(backtrace_of_thread(pid, pid, &no_objects, &result) < 0 && errno == ESRCH);
    CU_ASSERT_STRING_EQUAL(result.text, "");
    CU_ASSERT(backtrace_of_thread(getpid(), pid, &no_objects, &result) < 0 && errno == ESRCH);
}

/* Nobody may trace itself. */
static void not_permitted(void)
{
    struct backtrace result;
    CU_ASSERT(backtrace_of_thread(getpid(), getpid(), &no_objects, &result) < 0 && errno == EPERM);
}

static const struct suite_case cases[] = {
    {"lines of maps", lines_of_maps},
    {"static and inlined functions of a dead process", dead_static_functions},
    {"a crash at nowhere", a_crash_at_nowhere},
    {"objects loaded from memory", dead_objects_in_memory},
    {"maps that are cut off anywhere", maps_cut_off_anywhere},
    {"garbage", garbage},
    {"files that are no objects", files_that_are_no_objects},
    {"no frames", no_frames},
    {"too many frames", too_many_frames},
    {"a thread in nanosleep", a_thread_in_nanosleep},
    {"a thread in poll", a_thread_in_poll},
    {"a thread in read", a_thread_in_read},
    {"a thread in epoll_wait", a_thread_in_epoll_wait},
    {"a thread in recv with a time limit", a_thread_in_recv_with_a_limit},
    {"a thread that runs", a_thread_that_runs},
    {"a process that does not exist", nobody},
    {"a process that may not be traced", not_permitted},
};

int main(int argc, char **argv)
{
    return suite_main("backtrace", cases, SUITE_COUNT(cases), argc, argv);
}
