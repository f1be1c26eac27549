/* file.c: whole files; see file.h. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FOLDERS 16

/* Of a regular file: its size is known, and a shorter or longer one by now is an error. */
static char *read_all(int fd, size_t *length)
{
    struct stat about;
    if (fstat(fd, &about) < 0)
        return NULL;
    size_t size = (size_t)about.st_size, got = 0;
    char *bytes = malloc(size + 1);
    while (bytes != NULL && got < size) {
        ssize_t part = read(fd, bytes + got, size - got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0) {
            errno = part == 0 ? EIO : errno;
            free(bytes);
            return NULL;
        }
        got += (size_t)part;
    }
    if (bytes != NULL)
        bytes[size] = '\0';
    if (length != NULL)
        *length = size;
    return bytes;
}

char *file_read(const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *bytes = read_all(fd, length);
    int error = errno;
    close(fd);
    errno = error;
    return bytes;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t part = write(fd, bytes, length);
        if (part < 0 && errno != EINTR)
            return -1;
        if (part > 0) {
            bytes += part;
            length -= (size_t)part;
        }
    }
    return 0;
}

int file_write(const char *path, const char *bytes, size_t length)
{
    char *aside = NULL;
    if (asprintf(&aside, "%s.new", path) < 0)
        return -1;
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int result = fd < 0 ? -1 : write_all(fd, bytes, length);
    if (fd >= 0 && close(fd) < 0)
        result = -1;
    if (result == 0)
        result = rename(aside, path);
    int error = errno;
    if (result < 0 && fd >= 0)
        unlink(aside);
    free(aside);
    errno = error;
    return result;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

int file_remove_tree(const char *path)
{
    if (nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0)
        return 0;
    return errno == ENOENT ? 0 : -1;
}
