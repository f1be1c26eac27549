/*
 * @NAME@.c: counts its visitors, and shows what stands behind the question mark.
 */
#include <millrace.h>

#include <stdatomic.h>
#include <string.h>

/* Handlers run on many threads at once, so what they share is atomic or locked. Each worker process counts for itself. */
static atomic_ulong visitors;

static int handle(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    unsigned long number = atomic_fetch_add(&visitors, 1) + 1;
    mr_header(req, "Content-Type", "text/html; charset=utf-8");
    mr_header(req, "Cache-Control", "no-store");
    FCGX_PutS("\r\n<!DOCTYPE html>\n<title>@NAME@</title>\n", req->out);
    mr_printf(req->out, "<p>You are visitor %lu of this worker.</p>\n", number);
    if (query != NULL && query[0] != '\0') {
        FCGX_PutS("<p>You asked: ", req->out);
        mr_html(req->out, query, strlen(query)); /* what came from outside is escaped */
        FCGX_PutS("</p>\n", req->out);
    }
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "@NAME@", .handle = handle};
