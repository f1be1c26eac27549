/*
 * echo.c: answers with the request's body, byte for byte.
 *
 * The whole body is read before the answer begins: nginx stops sending a body once the head of the answer has arrived.
 * So that a long body costs no memory, what does not fit one piece waits in a file without a name.
 *
 * Option: `spool`, the directory of that file (/tmp).
 */
#include <millrace.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE_BYTES = 65536 };

static const char body_cut[] = "Status: 400 Bad Request\r\n"
                               "Content-Type: text/plain; charset=utf-8\r\n"
                               "Cache-Control: no-store\r\n"
                               "\r\n"
                               "The request's body ended too early.\n";

/* Whoever sent a body must not make a browser run it. */
static void put_head(FCGX_Request *req, long long length)
{
    mr_printf(req->out,
              "Content-Type: application/octet-stream\r\n"
              "X-Content-Type-Options: nosniff\r\n"
              "Cache-Control: no-store\r\n"
              "Content-Length: %lld\r\n"
              "\r\n",
              length);
}

/* A file without a name; in memory where the directory's file system knows no such files. −1 with errno. */
static int open_spool(const FCGX_Request *req)
{
    const char *directory = mr_option(req, "spool");
    int fd = open(directory != NULL ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("echo", MFD_CLOEXEC);
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* Moves the rest of the body, whose first piece is at hand, to the spool. Returns its whole length, −1 with a log line. */
static long long spool_body(FCGX_Request *req, int spool, char *piece, int length)
{
    long long total = 0;
    while (length > 0) {
        if (!write_all(spool, piece, (size_t)length)) {
            mr_log(req, "cannot keep a body: %s", strerror(errno));
            return -1;
        }
        total += length;
        length = FCGX_GetStr(piece, PIECE_BYTES, req->in);
    }
    return total;
}

static int answer_from_spool(FCGX_Request *req, int spool, char *piece, long long total)
{
    put_head(req, total);
    for (long long at = 0; at < total;) {
        ssize_t got = pread(spool, piece, PIECE_BYTES, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || FCGX_PutStr(piece, (int)got, req->out) != got)
            return 1;
        at += got;
    }
    return 0;
}

static int answer_long_body(FCGX_Request *req, char *piece, int length)
{
    int result = 1, spool = open_spool(req);
    if (spool < 0) {
        mr_log(req, "cannot keep a body: %s", strerror(errno));
        return 1; /* nothing was written: 500 */
    }
    long long total = spool_body(req, spool, piece, length);
    if (FCGX_GetError(req->in) != 0) {
        FCGX_PutStr(body_cut, sizeof body_cut - 1, req->out);
        result = 0;
    } else if (total >= 0) {
        result = answer_from_spool(req, spool, piece, total);
    }
    close(spool);
    return result;
}

static int echo(FCGX_Request *req)
{
    char piece[PIECE_BYTES];
    int length = FCGX_GetStr(piece, sizeof piece, req->in);
    if (length == (int)sizeof piece)
        return answer_long_body(req, piece, length);
    if (FCGX_GetError(req->in) != 0) {
        FCGX_PutStr(body_cut, sizeof body_cut - 1, req->out);
        return 0;
    }
    put_head(req, length);
    FCGX_PutStr(piece, length, req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "echo", .handle = echo};
