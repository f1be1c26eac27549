/*
 * page8k.c: builds 8 KiB of text piece by piece while it answers, as an application with a template does: what many
 * small writes cost. Nothing is kept from one request to the next.
 */
#include <string.h>

#include <millrace.h>

#define HEADER                                                                                                         \
    "Content-Type: text/html; charset=utf-8\r\n"                                                                       \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"
#define PAGE_START                                                                                                     \
    "<!DOCTYPE html>\n"                                                                                                \
    "<html lang=\"en\">\n"                                                                                             \
    "<head>\n"                                                                                                         \
    "<meta charset=\"utf-8\">\n"                                                                                       \
    "<title>Squares and cubes</title>\n"                                                                               \
    "</head>\n"                                                                                                        \
    "<body>\n"                                                                                                         \
    "<h1>Squares and cubes</h1>\n"                                                                                     \
    "<table>\n"                                                                                                        \
    "<tr><th>number</th><th>square</th><th>cube</th></tr>\n"
#define PAGE_END                                                                                                       \
    "</table>\n"                                                                                                       \
    "<p>Eight kibibytes of page, written anew for every request.</p>\n"                                                \
    "</body>\n"                                                                                                        \
    "</html>\n"

enum {
    ROWS = 152,
    NUMBER_DIGITS = 3,
    SQUARE_DIGITS = 5,
    CUBE_DIGITS = 7,
};

#define ROW_START "<tr><td>"
#define ROW_NEXT  "</td><td>"
#define ROW_END   "</td></tr>\n"
#define ROW_BYTES                                                                                                      \
    (sizeof ROW_START - 1 + 2 * (sizeof ROW_NEXT - 1) + sizeof ROW_END - 1 + NUMBER_DIGITS + SQUARE_DIGITS +           \
     CUBE_DIGITS)
_Static_assert(sizeof PAGE_START - 1 + ROWS * ROW_BYTES + sizeof PAGE_END - 1 == 8192,
               "the page is known as 8,192 bytes everywhere");
_Static_assert(100000 > ROWS * ROWS && 10000000 > ROWS * ROWS * ROWS, "the greatest square and cube fit their digits");

#define PUT(text, out) FCGX_PutStr(text, sizeof(text) - 1, out)

/* Leading zeros make every row as long as every other. */
static void put_number(int number, int digits, FCGX_Stream *out)
{
    char text[CUBE_DIGITS];
    for (int i = digits - 1; i >= 0; i--) {
        text[i] = (char)('0' + number % 10);
        number /= 10;
    }
    FCGX_PutStr(text, digits, out);
}

static int page8k(FCGX_Request *req)
{
    FCGX_Stream *out = req->out;
    PUT(HEADER, out);
    PUT(PAGE_START, out);
    for (int i = 1; i <= ROWS; i++) {
        PUT(ROW_START, out);
        put_number(i, NUMBER_DIGITS, out);
        PUT(ROW_NEXT, out);
        put_number(i * i, SQUARE_DIGITS, out);
        PUT(ROW_NEXT, out);
        put_number(i * i * i, CUBE_DIGITS, out);
        PUT(ROW_END, out);
    }
    PUT(PAGE_END, out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "page8k", .handle = page8k};
