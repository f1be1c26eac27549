/* bad_header.c: answers that no front end should get to see as they are, and some that it should; the query chooses
 * which. */
#include <string.h>

#include <millrace.h>

#define TEXT "Content-Type: text/plain\r\n"

static const struct bad {
    const char *query, *output;
    size_t length;
} bads[] = {
#define BAD(query, output)                                                                                             \
    {                                                                                                                  \
        query, output, sizeof(output) - 1                                                                              \
    }
    BAD("bare-cr", TEXT "X-One: a\rX-Two: b\r\n\r\nbody"),
    BAD("nul", TEXT "X-One: a\0b\r\n\r\nbody"),
    BAD("no-blank-line", TEXT),
    BAD("no-header", "just text, and no header at all"),
    BAD("no-colon", TEXT "this is no header\r\n\r\nbody"),
    BAD("empty-name", TEXT ": value\r\n\r\nbody"),
    BAD("space-in-name", TEXT "X One: a\r\n\r\nbody"),
    BAD("status-text", "Status: fine\r\n" TEXT "\r\nbody"),
    BAD("status-99", "Status: 99\r\n" TEXT "\r\nbody"),
    BAD("status-1000", "Status: 1000\r\n" TEXT "\r\nbody"),
    BAD("length-short", TEXT "Content-Length: 2\r\n\r\nbody"),
    BAD("length-long", TEXT "Content-Length: 20\r\n\r\nbody"),
    BAD("length-text", TEXT "Content-Length: four\r\n\r\nbody"),
    BAD("length-twice", TEXT "Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody"),
    BAD("status-100", "Status: 100\r\n" TEXT "\r\nbody"),
    BAD("status-twice", "Status: 404\r\nStatus: 200\r\n" TEXT "\r\nbody"),
    BAD("status-line", "HTTP/1.1 200 OK\r\n" TEXT "\r\nbody"),
    BAD("folded", TEXT "X-One: a\r\n b\r\n\r\nbody"),
    BAD("transfer-encoding", TEXT "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
    BAD("connection-close", TEXT "Connection: close\r\n\r\nbody"),
    BAD("connection-keep-alive", TEXT "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nbody"),
    BAD("upgrade", TEXT "Upgrade: websocket\r\nConnection: Upgrade\r\nTrailer: X\r\n\r\nbody"),
    BAD("server", TEXT "Server: other/1\r\n\r\nbody"),
    BAD("location", "Location: /elsewhere\r\n" TEXT "\r\nbody"),
    BAD("location-status", "Location: /elsewhere\r\nStatus: 307 Over There\r\n" TEXT "\r\nbody"),
    BAD("location-alone", "Location: http://elsewhere/\r\n\r\n"),
    BAD("cookies", TEXT "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nbody"),
    BAD("own-length", TEXT "content-length: 4\r\n\r\nbody"),
    BAD("good-lf-only", "Content-Type: text/plain\n\nbody"),
#undef BAD
};

/* mr_header must refuse what would become a second header line. */
static int through_the_call(FCGX_Request *req, const char *value)
{
    int refused = mr_header(req, "X-Value", value);

    FCGX_PutS(TEXT "\r\nbody", req->out);
    return refused ? 7 : 0;
}

/* A length is declared, and half of the body leaves before the rest shows that it is wrong. The surplus looks like an
 * answer. */
static int after_a_flush(FCGX_Request *req, const char *length)
{
    mr_printf(req->out, TEXT "Content-Length: %s\r\n\r\nbo", length);
    FCGX_FFlush(req->out);
    FCGX_PutS("dyHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforged!", req->out);
    return 0;
}

static int bad_header(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);

    if (!query)
        return 1;
    if (strcmp(query, "call-crlf") == 0)
        return through_the_call(req, "a\r\nX-Two: b");
    if (strcmp(query, "call-good") == 0)
        return through_the_call(req, "plain");
    if (strncmp(query, "flushed-", 8) == 0)
        return after_a_flush(req, query + 8);
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        if (strcmp(query, bads[i].query) == 0)
            FCGX_PutStr(bads[i].output, (int)bads[i].length, req->out);
    }
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "bad_header", .handle = bad_header};
