/*
 * ruling.c: collects the reasons for which a run does not count. Formats text; knows no tool and no rule.
 */
#include "tools/ruling.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ruling_init(struct ruling *ruling)
{
    ruling->status = RULING_ACCEPTED;
    ruling->reason_count = 0;
}

static bool is_given(const struct ruling *ruling, const char *reason)
{
    for (int i = 0; i < ruling->reason_count; i++)
        if (strcmp(ruling->reasons[i], reason) == 0)
            return true;
    return false;
}

static __attribute__((format(printf, 3, 0))) void add(struct ruling *ruling, enum ruling_status status,
                                                      const char *format, va_list values)
{
    char reason[RULING_REASON_BYTES_MAX];
    vsnprintf(reason, sizeof reason, format, values);
    if (status > ruling->status)
        ruling->status = status;
    if (is_given(ruling, reason))
        return;
    if (ruling->reason_count == RULING_REASONS_MAX) {
        snprintf(ruling->reasons[RULING_REASONS_MAX - 1], RULING_REASON_BYTES_MAX, "and more reasons than fit here");
        return;
    }
    memcpy(ruling->reasons[ruling->reason_count++], reason, sizeof reason);
}

void ruling_void(struct ruling *ruling, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add(ruling, RULING_VOID, format, values);
    va_end(values);
}

void ruling_fail(struct ruling *ruling, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add(ruling, RULING_FAILED, format, values);
    va_end(values);
}

const char *ruling_name(enum ruling_status status)
{
    static const char *const names[] = {
        [RULING_ACCEPTED] = "accepted", [RULING_VOID] = "void", [RULING_FAILED] = "failed"};
    return names[status];
}
