/* bad_header.c: answers that no front end should get to see as they are; the query chooses which. */
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

static int bad_header(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);

    if (!query)
        return 1;
    if (strcmp(query, "call-crlf") == 0)
        return through_the_call(req, "a\r\nX-Two: b");
    if (strcmp(query, "call-good") == 0)
        return through_the_call(req, "plain");
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        if (strcmp(query, bads[i].query) == 0)
            FCGX_PutStr(bads[i].output, (int)bads[i].length, req->out);
    }
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "bad_header", .handle = bad_header};
