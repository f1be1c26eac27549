/*
 * log.c: writes log lines. Runs in every process and thread; keeps no file of its own, only standard error.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static __thread int log_thread;
static __thread uint64_t log_request;

/* The last text and its second: enough to keep one fault in a tight loop from filling the disk. */
static pthread_mutex_t repeat_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t repeat_hash;
static time_t repeat_second;
static unsigned repeat_dropped;

void log_set_thread(int number)
{
    log_thread = number;
}

void log_set_request(uint64_t request)
{
    log_request = request;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(1469598103934665603);
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return hash;
}

/* Returns true when the line repeats the one before within its second; else sets `dropped` to the count left out. */
static bool is_repeated(const char *text, time_t second, unsigned *dropped)
{
    uint64_t hash = hash_text(text);
    pthread_mutex_lock(&repeat_lock);
    bool repeated = hash == repeat_hash && second == repeat_second;
    if (repeated) {
        repeat_dropped++;
    } else {
        *dropped = repeat_dropped;
        repeat_dropped = 0;
        repeat_hash = hash;
        repeat_second = second;
    }
    pthread_mutex_unlock(&repeat_lock);
    return repeated;
}

/* A line stays a line: control characters become visible escapes. Returns the length written to `to`. */
static size_t escape_text(char *to, size_t room, const char *text)
{
    size_t length = 0;
    for (; *text != '\0' && length + 4 < room; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte >= 0x20 && byte != 0x7f)
            to[length++] = *text;
        else
            length += (size_t)snprintf(to + length, 5, "\\x%02x", byte);
    }
    return length;
}

/* sd-daemon(3): lines to the journal begin with their priority; it adds time and process by itself. JOURNAL_STREAM says
 * which stream is the journal's, so that output redirected elsewhere is not taken for it. */
static bool is_journal(void)
{
    unsigned long long device, inode;
    struct stat status;
    const char *stream = getenv("JOURNAL_STREAM");
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &status) == 0 &&
           status.st_dev == (dev_t)device && status.st_ino == (ino_t)inode;
}

static size_t write_prefix(char *to, size_t room, const struct timespec *now, enum log_level level, const char *module)
{
    static const char *const names[] = {[LOG_ERROR] = "error", [LOG_WARNING] = "warn ", [LOG_INFO] = "info "};
    static const int priorities[] = {[LOG_ERROR] = 3, [LOG_WARNING] = 4, [LOG_INFO] = 6};
    if (is_journal())
        return (size_t)snprintf(to, room, "<%d>%d %llu %s: ", priorities[level], log_thread,
                                (unsigned long long)log_request, module);
    struct tm utc;
    gmtime_r(&now->tv_sec, &utc);
    size_t length = strftime(to, room, "%Y-%m-%dT%H:%M:%S", &utc);
    length += (size_t)snprintf(to + length, room - length, ".%03ldZ %s %d/%d %llu %s: ", now->tv_nsec / 1000000,
                               names[level], (int)getpid(), log_thread, (unsigned long long)log_request, module);
    return length < room ? length : room - 1;
}

/* A pipe whose reader does not read, or a terminal that was stopped, must not stop the server either: the line is lost.
 */
static bool has_room(void)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) != 0;
}

static void write_line(const char *line, size_t length)
{
    if (!has_room())
        return;
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, line, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* A log that cannot be written must not stop the server. */
        line += written;
        length -= (size_t)written;
    }
}

void log_write_v(enum log_level level, const char *module, const char *format, va_list arguments)
{
    int saved_errno = errno;
    char text[LOG_LINE_BYTES];
    char line[LOG_LINE_BYTES + 128];
    struct timespec now;
    unsigned dropped = 0;
    vsnprintf(text, sizeof text, format, arguments);
    clock_gettime(CLOCK_REALTIME, &now);
    if (!is_repeated(text, now.tv_sec, &dropped)) {
        size_t length = write_prefix(line, sizeof line, &now, level, module);
        if (dropped > 0)
            length +=
                (size_t)snprintf(line + length, sizeof line - length, "(the line before %u times more) ", dropped);
        size_t room = sizeof line - 1 - length;
        length += escape_text(line + length, room < LOG_LINE_BYTES ? room : LOG_LINE_BYTES, text);
        line[length++] = '\n';
        write_line(line, length);
    }
    errno = saved_errno;
}

void log_write(enum log_level level, const char *module, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_write_v(level, module, format, arguments);
    va_end(arguments);
}

int log_file_open(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
}

int log_open(const char *path)
{
    int fd = log_file_open(path);
    if (fd < 0)
        return -1;
    if (dup2(fd, STDERR_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        int saved_errno = errno;
        close(fd);
        errno = saved_errno;
        return -1;
    }
    close(fd);
    return 0;
}
