/*
 * kernel.h: the three system calls of a request. With MR_DIRECT_CALLS (the server itself, on x86-64) without the C library's
 * functions around them: those ask before and after whether the thread is to be cancelled, and their return, like every one
 * that follows the kernel's many, is mispredicted. That is 1.7 % of a request's CPU. Returns and errno are the same.
 */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

#include <sys/epoll.h>
#include <sys/socket.h>

#if defined(MR_DIRECT_CALLS) && defined(__x86_64__)

#include <errno.h>
#include <sys/syscall.h>

static inline long kernel_call(long number, long first, const void *second, size_t third, long fourth)
{
    register long r10 __asm__("r10") = fourth;
    register long r8 __asm__("r8") = 0;
    register long r9 __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

static inline ssize_t kernel_recv(int fd, void *to, size_t room, int flags)
{
    return kernel_call(SYS_recvfrom, fd, to, room, flags);
}

static inline ssize_t kernel_send(int fd, const void *bytes, size_t length, int flags)
{
    return kernel_call(SYS_sendto, fd, bytes, length, flags);
}

static inline int kernel_epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
    return (int)kernel_call(SYS_epoll_wait, fd, events, (size_t)count, timeout_ms);
}

#else

static inline ssize_t kernel_recv(int fd, void *to, size_t room, int flags)
{
    return recv(fd, to, room, flags);
}

static inline ssize_t kernel_send(int fd, const void *bytes, size_t length, int flags)
{
    return send(fd, bytes, length, flags);
}

static inline int kernel_epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
    return epoll_wait(fd, events, count, timeout_ms);
}

#endif

#endif
