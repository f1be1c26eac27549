/*
 * pid_file.c: writes and removes the pid file. Runs in the master.
 */
#include "control/pid_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The name under which the file is written, in the same directory; the caller frees it. NULL with errno. */
static char *other_name(const char *path)
{
    char *other = NULL;
    return asprintf(&other, "%s.%d", path, (int)getpid()) < 0 ? NULL : other;
}

static int write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return -1;
    int printed = fprintf(file, "%s\n", text);
    return fclose(file) == 0 && printed > 0 ? 0 : -1;
}

/* Writes the text under another name and, with `keep`, moves it to its place. */
static int write_other(const char *path, const char *text, bool keep)
{
    char *other = other_name(path);
    if (other == NULL)
        return -1;
    int result = write_text(other, text);
    if (result == 0 && keep)
        result = rename(other, path);
    int error = errno;
    if (!keep || result < 0)
        unlink(other);
    free(other);
    errno = error;
    return result;
}

static int write_number(const char *path, bool keep)
{
    char number[24];
    if (path == NULL)
        return 0;
    snprintf(number, sizeof number, "%d", (int)getpid());
    return write_other(path, number, keep);
}

int pid_file_check(const char *path)
{
    return write_number(path, false);
}

int pid_file_write(const char *path)
{
    return write_number(path, true);
}

int pid_file_write_outcome(const char *path, const char *line)
{
    char *outcome = NULL;
    if (path == NULL)
        return 0;
    if (asprintf(&outcome, "%s.reload", path) < 0)
        return -1;
    int result = write_other(outcome, line, true);
    free(outcome);
    return result;
}

static void remove_outcome(const char *path)
{
    char *outcome = NULL;
    if (asprintf(&outcome, "%s.reload", path) < 0)
        return;
    unlink(outcome);
    free(outcome);
}

void pid_file_remove(const char *path)
{
    long number = 0;
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    if (file == NULL)
        return;
    if (fscanf(file, "%ld", &number) == 1 && number == (long)getpid()) {
        unlink(path);
        remove_outcome(path);
    }
    fclose(file);
}
