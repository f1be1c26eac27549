/* bigout.c: answers with as many bytes as the query says, header section not counted. Byte i of the body is
 * 'a' + i % 23, so that a lost, doubled or moved piece shows. "N,P" writes it in pieces of P bytes. */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static int write_pieces(FCGX_Stream *out, const char *body, long length, long piece)
{
    for (long at = 0; at < length; at += piece) {
        int part = (int)(length - at < piece ? length - at : piece);

        if (FCGX_PutStr(body + at, part, out) != part)
            return 1;
    }
    return 0;
}

static int bigout(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    long length = query ? strtol(query, NULL, 10) : 0;
    const char *comma = query ? strchr(query, ',') : NULL;
    long piece = comma ? strtol(comma + 1, NULL, 10) : length;
    char *body = malloc((size_t)length + 1);
    int failed;

    if (!body)
        return 1;
    for (long i = 0; i < length; i++)
        body[i] = (char)('a' + i % 23);
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    failed = length ? write_pieces(req->out, body, length, piece ? piece : length) : 0;
    free(body);
    return failed;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "bigout", .handle = bigout};
