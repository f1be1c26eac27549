/*
 * gif.c: answers with the smallest transparent picture, one pixel: the smallest answer, and one that is not text.
 */
#include <millrace.h>

#define HEADER                                                                                                         \
    "Content-Type: image/gif\r\n"                                                                                      \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"
#define SCREEN  "GIF89a\x01\0\x01\0\x80\0\0" /* one by one pixel, a table of two colours */
#define COLOURS "\0\0\0\xff\xff\xff"         /* black, white */
#define CONTROL "\x21\xf9\x04\x01\0\0\0\0"   /* colour 0 is transparent */
#define PIXEL   "\x2c\0\0\0\0\x01\0\x01\0\0" /* an image as large as the screen */
#define DATA    "\x02\x02\x44\x01\0"         /* LZW: clear, colour 0, end */
#define TRAILER "\x3b"
#define PICTURE SCREEN COLOURS CONTROL PIXEL DATA TRAILER

static const char answer[] = HEADER PICTURE;
_Static_assert(sizeof PICTURE - 1 == 43, "the picture is known as 43 bytes everywhere");

static int gif(FCGX_Request *req)
{
    FCGX_PutStr(answer, sizeof answer - 1, req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "gif", .handle = gif};
