/*
 * log.h: one event, one line, one write.
 *
 * A line is `time level process/thread request module: text`, to the journal `<priority>thread request module: text`. Lines go to standard error, which the master may have
 * pointed at a file. The same text is written at most once a second; the next line then says how many were left out.
 * Any process, any thread. errno is left alone.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO };

#define LOG_LINE_BYTES 2000

void log_write(enum log_level level, const char *module, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));
void log_write_v(enum log_level level, const char *module, const char *format, va_list arguments)
    __attribute__((__format__(__printf__, 3, 0)));

#define log_error(module, ...) log_write(LOG_ERROR, module, __VA_ARGS__)
#define log_warning(module, ...) log_write(LOG_WARNING, module, __VA_ARGS__)
#define log_info(module, ...) log_write(LOG_INFO, module, __VA_ARGS__)

/* What the lines of this thread are tagged with: its number in the worker, and the request at hand (0: none). */
void log_set_thread(int number);
void log_set_request(uint64_t request);

/* Opens a file for lines to be added to, created with mode 0640 if need be. Returns the descriptor, owned by the caller, −1
 * with errno. Does not wait for the reader of a FIFO. */
int log_file_open(const char *path) __attribute__((warn_unused_result));

/* Points standard error, and standard output with it, at the file, which is created with mode 0640 if need be.
 * Returns 0, −1 with errno. Also reopens after the file has been moved away. */
int log_open(const char *path) __attribute__((warn_unused_result));

#endif
