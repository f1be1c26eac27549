/*
 * suite.c: runs a table of cases under CUnit and prints one line for each. Runs in the test program's main thread.
 * It does not judge whole programs: tests/run does, which also notices one that died without a word.
 */
#include "suite.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>

enum { EXIT_STATUS_MAX = 100 }; /* above are the statuses of timeout(1) and of signals */

static struct {
    char title[64];
    const char *running; /* the case that runs now, NULL between cases */
    const char *skipped; /* why it ended early, NULL when it did not */
    pid_t pid;           /* a child that a case forked must not speak for the suite */
    int failures;
} suite;

static void suite_leave_case(void)
{
    longjmp(*CU_get_current_test()->pJumpBuf, 1);
}

void suite_skip(const char *why)
{
    suite.skipped = why;
    suite_leave_case();
    abort();
}

void suite_fail(const char *file, unsigned line, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *at = text; *at; at++) { /* one case, one line */
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    }
    CU_assertImplementation(CU_FALSE, line, text, file, "", CU_TRUE);
    abort();
}

static void suite_report(const CU_pTest test, const CU_pSuite owner, const CU_pFailureRecord failure)
{
    (void)owner;
    if (failure) {
        suite.failures++;
        printf("not ok - %s: %s: %s:%u: %s\n", suite.title, test->pName, failure->strFileName, failure->uiLineNumber,
               failure->strCondition);
        for (CU_pFailureRecord more = failure->pNext; more; more = more->pNext) {
            printf("#   also %s:%u: %s\n", more->strFileName, more->uiLineNumber, more->strCondition);
        }
    } else if (suite.skipped) {
        printf("skip - %s: %s: %s\n", suite.title, test->pName, suite.skipped);
    } else {
        printf("ok - %s: %s\n", suite.title, test->pName);
    }
    suite.running = NULL;
    suite.skipped = NULL;
}

static void suite_begin(const CU_pTest test, const CU_pSuite owner)
{
    (void)owner;
    suite.running = test->pName;
}

/* Without this a case that calls exit(0) would look like a program whose cases all passed. */
static void suite_at_exit(void)
{
    if (suite.running && getpid() == suite.pid) {
        printf("not ok - %s: %s: the program left inside this case\n", suite.title, suite.running);
        fflush(stdout);
        _exit(1);
    }
}

static void suite_say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(EXIT_STATUS_MAX);
}

/* Names the case, then lets the signal end the program as it would have. Only async-signal-safe calls. */
static void suite_at_signal(int number)
{
    const char digits[] = {(char)('0' + number / 10), (char)('0' + number % 10), '\n', '\0'};

    if (suite.running && getpid() == suite.pid) {
        suite_say("not ok - ");
        suite_say(suite.title);
        suite_say(": ");
        suite_say(suite.running);
        suite_say(": died of signal ");
        suite_say(digits);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void suite_watch_signals(void)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction old;

    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) { /* a sanitizer's handler stays */
            signal(deadly[i], suite_at_signal);
        }
    }
}

static const struct suite_case *suite_find(const struct suite_case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    }
    return NULL;
}

static void suite_add(CU_pSuite owner, const struct suite_case *one)
{
    if (!CU_add_test(owner, one->name, one->run)) {
        suite.failures++;
        printf("not ok - %s: %s: %s\n", suite.title, one->name, CU_get_error_msg());
    }
}

static void suite_fill(CU_pSuite owner, const struct suite_case *cases, size_t count, int argc, char **argv)
{
    for (size_t i = 0; argc < 2 && i < count; i++)
        suite_add(owner, &cases[i]);
    for (int i = 1; i < argc; i++) {
        const struct suite_case *one = suite_find(cases, count, argv[i]);

        if (one) {
            suite_add(owner, one);
        } else {
            suite.failures++;
            printf("not ok - %s: %s: there is no such case\n", suite.title, argv[i]);
        }
    }
}

int suite_main(const char *title, const struct suite_case *cases, size_t count, int argc, char **argv)
{
    CU_pSuite owner;

    snprintf(suite.title, sizeof suite.title, "%s%s", title, getenv("MILLRACE_TEST_TCP") ? " over TCP" : "");
    setvbuf(stdout, NULL, _IOLBF, 0); /* a forked child must find nothing to write twice */
    suite.pid = getpid();
    if (CU_initialize_registry() != CUE_SUCCESS || !(owner = CU_add_suite(title, NULL, NULL))) {
        printf("not ok - %s: start: %s\n", title, CU_get_error_msg());
        return 1;
    }
    atexit(suite_at_exit);
    suite_watch_signals();
    suite_fill(owner, cases, count, argc, argv);
    CU_set_test_start_handler(suite_begin);
    CU_set_test_complete_handler(suite_report);
    CU_run_all_tests();
    CU_cleanup_registry();
    return suite.failures < EXIT_STATUS_MAX ? suite.failures : EXIT_STATUS_MAX;
}
