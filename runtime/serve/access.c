/*
 * access.c: makes and writes the lines of the access log. Runs on lanes.
 */
#include "serve/access.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve/request.h"

#define LINE_BYTES 2048 /* at most; a longer URI is cut off */

static size_t put_text(char *to, size_t room, const char *text)
{
    size_t length = 0;
    if (text == NULL || *text == '\0')
        text = "-";
    for (; *text != '\0' && length + 5 < room; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte > 0x20 && byte != 0x7f && byte != '"' && byte != '\\')
            to[length++] = *text;
        else
            length += (size_t)snprintf(to + length, 5, "\\x%02x", byte);
    }
    to[length++] = ' ';
    return length;
}

static size_t put_time(char *to, size_t room)
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t length = strftime(to, room, "%Y-%m-%dT%H:%M:%S", &utc);
    return length + (size_t)snprintf(to + length, room - length, ".%03ldZ ", now.tv_nsec / 1000000);
}

static double ms(int64_t time_us)
{
    return (double)time_us / 1000;
}

static size_t put_line(char *to, const struct request *request)
{
    size_t length = put_time(to, 64);
    length += (size_t)snprintf(to + length, 64, "%d %" PRIu64 " ", (int)getpid(), request->number);
    length += put_text(to + length, 64, request_variable(request, "REMOTE_ADDR"));
    length += put_text(to + length, 32, request->method);
    length += put_text(to + length, 1200, request->uri);
    length += (size_t)snprintf(to + length, 64, "%d %" PRId64 " ", request->status, request->sent_bytes);
    length +=
        put_text(to + length, SETTINGS_PATH_BYTES + 8, request->route == NULL ? "" : request->route->settings->path);
    if (request->started_us == 0)
        return length + (size_t)snprintf(to + length, 64, "- -\n");
    return length + (size_t)snprintf(to + length, 64, "%.3f %.3f\n", ms(request->started_us - request->ready_us),
                                     ms(request->handler_us));
}

void access_add(struct access *access, struct access_buffer *buffer, const struct request *request)
{
    if (atomic_load_explicit(&access->fd, memory_order_relaxed) < 0)
        return;
    if (ACCESS_BUFFER_BYTES - buffer->length < LINE_BYTES)
        access_flush(access, buffer);
    buffer->length += put_line(buffer->bytes + buffer->length, request);
}

/* A log that cannot be written must not stop the server. */
void access_flush(struct access *access, struct access_buffer *buffer)
{
    size_t done = 0;
    while (done < buffer->length) {
        ssize_t written =
            write(atomic_load_explicit(&access->fd, memory_order_relaxed), buffer->bytes + done, buffer->length - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    buffer->length = 0;
}
