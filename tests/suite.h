/*
 * suite.h: what every C test program shares: a table of cases, run by CUnit, one line of output a case.
 *
 *     static void splits_at_every_byte(void) { CU_ASSERT_EQUAL(parse("a"), 1); }
 *     static const struct suite_case cases[] = {{"splits at every byte", splits_at_every_byte}};
 *     int main(int argc, char **argv) { return suite_main("record", cases, SUITE_COUNT(cases), argc, argv); }
 *
 * Prints `ok - record: splits at every byte`, or `not ok - record: splits at every byte: file:line: condition`.
 */
#ifndef SUITE_H
#define SUITE_H

#include <stddef.h>

#include <CUnit/CUnit.h>

#define SUITE_COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

struct suite_case {
    const char *name;
    void (*run)(void);
};

/* Runs the cases named in argv[1...], all without names. Returns the number of failures (at most 100), which is the
 * program's exit status. A case that crashes or leaves the program is reported as a failure before the program ends. */
int suite_main(const char *title, const struct suite_case *cases, size_t count, int argc, char **argv);

/* Ends the case that runs now and reports it as skipped; does not return. */
void suite_skip(const char *why) __attribute__((noreturn));

/* Ends the case that runs now as failed with formatted text instead of a condition; does not return. Use it through
 * the macro, which adds the place. */
void suite_fail(const char *file, unsigned line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
#define SUITE_FAIL(...) suite_fail(__FILE__, __LINE__, __VA_ARGS__)

/* Fails the case with formatted text when the condition does not hold: for figures that the condition's own text
 * would hide. */
#define SUITE_CHECK(condition, ...) ((condition) ? (void)0 : suite_fail(__FILE__, __LINE__, __VA_ARGS__))

#endif
