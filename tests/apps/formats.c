/* formats.c: what mr_printf must know and libfcgi's own printf does not, and a text longer than any buffer of either.
 */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

enum { LONG_BYTES = 100000 };

static int formats(FCGX_Request *req)
{
    char *text = malloc(LONG_BYTES + 1);

    if (!text)
        return 1;
    memset(text, 't', LONG_BYTES);
    text[LONG_BYTES] = '\0';
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%zu %jd %lld %.*s %5.2f %td %%\n", (size_t)-1, (intmax_t)-5,
              1LL << 40, 3, "abcdef", 3.14159, (ptrdiff_t)7);
    if (mr_printf(req->out, "%s", text) != LONG_BYTES)
        mr_printf(req->out, "a wrong count");
    free(text);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "formats", .handle = formats};
