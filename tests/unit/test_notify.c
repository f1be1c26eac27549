/* test_notify.c: what arrives at the service manager's socket, of either kind. Unset: nothing is sent. */
#include <CUnit/CUnit.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/notify.h"
#include "suite.h"

#define VARIABLE "NOTIFY_SOCKET"

/* The manager's side. `name` is as in the variable: a path, or @ and a name. */
static int manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path, name, length);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    else
        unlink(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(
        bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)), 0);
    return fd;
}

/* Two managers of one process must not meet those of another test. */
static const char *name_of(const char *format)
{
    static char name[108];
    snprintf(name, sizeof name, format, (int)getpid());
    return name;
}

/* Whether exactly this text is the next datagram; NULL: whether there is none. */
static bool is_next(int fd, const char *expected)
{
    char text[256];
    ssize_t got = recv(fd, text, sizeof text, 0);
    if (expected == NULL)
        return got < 0;
    return got == (ssize_t)strlen(expected) && memcmp(text, expected, (size_t)got) == 0;
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void reaches(const char *name)
{
    int fd = manager(name);
    setenv(VARIABLE, name, 1);
    notify_init();
    int descriptors = count_descriptors();
    notify_send("READY=1\nSTATUS=serving");
    notify_send("STOPPING=1");
    SUITE_CHECK(is_next(fd, "READY=1\nSTATUS=serving"), "%s: not the first message", name);
    SUITE_CHECK(is_next(fd, "STOPPING=1"), "%s: not the second message", name);
    SUITE_CHECK(is_next(fd, NULL), "%s: more than was sent", name);
    CU_ASSERT_EQUAL(count_descriptors(), descriptors);
    close(fd);
    if (name[0] == '/')
        unlink(name);
}

static void a_path(void)
{
    reaches(name_of("/tmp/millrace-notify.%d"));
}

static void an_abstract_name(void)
{
    reaches(name_of("@millrace/notify.%d"));
}

/* 107 bytes and the end of the string. */
static void the_longest_path(void)
{
    char name[108];
    int length = snprintf(name, sizeof name, "/tmp/millrace-notify.%d.", (int)getpid());
    memset(name + length, 'x', sizeof name - 1 - (size_t)length);
    name[sizeof name - 1] = '\0';
    reaches(name);
}

static void the_variable_is_kept_from_children(void)
{
    const char *name = name_of("@millrace/notify.%d");
    int fd = manager(name);
    setenv(VARIABLE, name, 1);
    notify_init();
    CU_ASSERT_PTR_NULL(getenv(VARIABLE));
    notify_pass_on();
    CU_ASSERT_PTR_NOT_NULL_FATAL(getenv(VARIABLE));
    CU_ASSERT_STRING_EQUAL(getenv(VARIABLE), name);
    close(fd);
}

/* Those that mean nothing here send nothing, and are taken away like others. */
static void nobody_asked(void)
{
    char too_long[200];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[0] = '/';
    too_long[sizeof too_long - 1] = '\0';
    const char *const none[] = {NULL, "", "relative", "vsock:2:1234", too_long};
    for (size_t i = 0; i < SUITE_COUNT(none); i++) {
        if (none[i] == NULL)
            unsetenv(VARIABLE);
        else
            setenv(VARIABLE, none[i], 1);
        notify_init();
        notify_send("READY=1");
        notify_pass_on();
        CU_ASSERT_PTR_NULL(getenv(VARIABLE));
    }
}

static void a_manager_that_has_gone(void)
{
    const char *name = name_of("@millrace/notify.%d");
    close(manager(name));
    setenv(VARIABLE, name, 1);
    notify_init();
    int descriptors = count_descriptors();
    notify_send("READY=1");
    CU_ASSERT_EQUAL(count_descriptors(), descriptors);
}

/* Once its queue is full, a message waits, but not for ever. */
static void a_manager_that_does_not_read(void)
{
    const char *name = name_of("@millrace/notify.%d");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = manager(name), filler = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    while (sendto(filler, "X=1", 3, 0, (struct sockaddr *)&address, length) == 3)
        continue;
    setenv(VARIABLE, name, 1);
    notify_init();
    int64_t before_us = clock_now_us();
    notify_send("READY=1");
    SUITE_CHECK(clock_now_us() - before_us < 5 * CLOCK_SECOND, "it waited %lld us",
                (long long)(clock_now_us() - before_us));
    close(filler);
    close(fd);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"a path", a_path},
        {"an abstract name", an_abstract_name},
        {"the longest path", the_longest_path},
        {"the variable is kept from children, and can be passed on", the_variable_is_kept_from_children},
        {"nothing is sent when nobody asked", nobody_asked},
        {"a manager that has gone is no fault", a_manager_that_has_gone},
        {"a manager that does not read holds nothing up", a_manager_that_does_not_read},
    };
    return suite_main("notify", cases, SUITE_COUNT(cases), argc, argv);
}
