/*
 * shared.c: memfds, mapped. Made by the master, used by every process.
 */
#include "base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(struct shared *shared, int fd, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *shared = (struct shared){.at = at, .bytes = bytes, .fd = fd};
    return 0;
}

int shared_new(struct shared *shared, const char *name, size_t bytes)
{
    *shared = (struct shared){.fd = -1};
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return map(shared, fd, bytes);
}

int shared_adopt(struct shared *shared, int fd, size_t bytes)
{
    struct stat status;
    *shared = (struct shared){.fd = -1};
    if (fstat(fd, &status) < 0 || status.st_size != (off_t)bytes) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return map(shared, fd, bytes);
}

void shared_fini(struct shared *shared)
{
    if (shared->at == NULL)
        return;
    munmap(shared->at, shared->bytes);
    close(shared->fd);
    *shared = (struct shared){.fd = -1};
}

void shared_clear(const struct shared *shared, void *from, size_t bytes)
{
    off_t offset = (char *)from - (char *)shared->at;
    if (fallocate(shared->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t)bytes) < 0)
        memset(from, 0, bytes);
}

size_t shared_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}
