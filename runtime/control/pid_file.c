/*
 * pid_file.c: writes and removes the pid file. Runs in the master.
 */
#include "control/pid_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int pid_file_write(const char *path)
{
    char *other = NULL;
    if (path == NULL)
        return 0;
    if (asprintf(&other, "%s.%d", path, (int)getpid()) < 0)
        return -1;
    FILE *file = fopen(other, "wxe");
    int result = file == NULL ? -1 : 0;
    if (file != NULL && fprintf(file, "%d\n", (int)getpid()) < 0)
        result = -1;
    if (file != NULL && fclose(file) != 0)
        result = -1;
    if (result == 0)
        result = rename(other, path);
    int error = errno;
    if (result < 0 && file != NULL)
        unlink(other);
    free(other);
    errno = error;
    return result;
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
