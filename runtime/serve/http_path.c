/*
 * http_path.c: decodes and normalises paths. Pure; runs on lanes.
 */
#include "serve/http_path.h"

#include "serve/token.h"

/* Returns the length, −1. */
static ssize_t decode(struct span path, uint8_t *to)
{
    size_t length = 0;
    for (size_t i = 0; i < path.length; i++) {
        uint8_t byte = path.at[i];
        if (byte == '%') {
            bool is_whole = i + 2 < path.length;
            int high = is_whole ? token_hex(path.at[i + 1]) : -1;
            int low = is_whole ? token_hex(path.at[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return -1;
            byte = (uint8_t)(high << 4 | low);
            i += 2;
        }
        to[length++] = byte;
    }
    return (ssize_t)length;
}

/* Most paths have nothing to resolve. */
static bool is_normal(const uint8_t *path, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (path[i] == '/' && (path[i + 1] == '/' || path[i + 1] == '.'))
            return false;
    return true;
}

/* Goes over segments in place: what is written never passes what is read. Returns the length, −1. */
static ssize_t resolve(uint8_t *path, size_t length)
{
    size_t done = 1, at = 1; /* path[0, done) is normalised and ends with a slash */
    while (at < length) {
        const uint8_t *end = memchr(path + at, '/', length - at);
        size_t segment = end == NULL ? length - at : (size_t)(end - path) - at;
        bool has_slash = end != NULL;
        if (segment == 2 && path[at] == '.' && path[at + 1] == '.') {
            if (done == 1)
                return -1;
            for (done--; path[done - 1] != '/'; done--)
                ;
        } else if (segment > 0 && !(segment == 1 && path[at] == '.')) {
            memmove(path + done, path + at, segment + has_slash);
            done += segment + has_slash;
        }
        at += segment + has_slash;
    }
    return (ssize_t)done;
}

ssize_t http_path_normalise(struct span path, uint8_t *to)
{
    if (path.length == 0) {
        to[0] = '/';
        return 1;
    }
    ssize_t length = decode(path, to);
    if (length < 0 || is_normal(to, (size_t)length))
        return length;
    return resolve(to, (size_t)length);
}
