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

static int write_number(const char *path)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return -1;
    int printed = fprintf(file, "%d\n", (int)getpid());
    return fclose(file) == 0 && printed > 0 ? 0 : -1;
}

/* Writes the other name and, with `keep`, moves it to its place. */
static int write_other(const char *path, bool keep)
{
    if (path == NULL)
        return 0;
    char *other = other_name(path);
    if (other == NULL)
        return -1;
    int result = write_number(other);
    if (result == 0 && keep)
        result = rename(other, path);
    int error = errno;
    if (!keep || result < 0)
        unlink(other);
    free(other);
    errno = error;
    return result;
}

int pid_file_check(const char *path)
{
    return write_other(path, false);
}

int pid_file_write(const char *path)
{
    return write_other(path, true);
}

void pid_file_remove(const char *path)
{
    long number = 0;
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    if (file == NULL)
        return;
    if (fscanf(file, "%ld", &number) == 1 && number == (long)getpid())
        unlink(path);
    fclose(file);
}
