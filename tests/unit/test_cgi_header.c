/* test_cgi_header.c: the header block that a handler writes. */
#include <CUnit/CUnit.h>

#include "base/check.h"
#include "serve/cgi_header.h"
#include "serve/token.h"
#include "suite.h"

struct header_case {
    const char *output;
    size_t output_length;
    enum cgi_header_result result;
    size_t length;
    int status;
    int64_t content_length;
};

#define CASE(output, result, length, status, content_length)                                                           \
    {output, sizeof output - 1, result, length, status, content_length}
#define BAD(output)  CASE(output, CGI_HEADER_BAD, 0, 0, 0)
#define CUT(output)  CASE(output, CGI_HEADER_INCOMPLETE, 0, 0, 0)

static const struct header_case header_cases[] = {
    CASE("Content-Type: text/html\r\n\r\nbody", CGI_HEADER_DONE, 27, 200, -1),
    CASE("Content-Type: text/html\n\nbody", CGI_HEADER_DONE, 25, 200, -1),
    CASE("A: b\n\r\n", CGI_HEADER_DONE, 7, 200, -1),
    CASE("Status: 404 Not Found\r\n\r\n", CGI_HEADER_DONE, 25, 404, -1),
    CASE("status:404\r\n\r\n", CGI_HEADER_DONE, 14, 404, -1),
    CASE("Content-Length: 12\r\n\r\n", CGI_HEADER_DONE, 22, 200, 12),
    CASE("Content-Length:0\r\n\r\n", CGI_HEADER_DONE, 20, 200, 0),
    CASE("Location: /x\r\n\r\n", CGI_HEADER_DONE, 16, 302, -1),
    CASE("Location: /x\r\nStatus: 201 Created\r\n\r\n", CGI_HEADER_DONE, 37, 201, -1),
    CASE("Status: 301 Moved\r\nLocation: /x\r\n\r\n", CGI_HEADER_DONE, 35, 301, -1),
    CASE("X: \t tab and 8-bit \xe4\r\n\r\n", CGI_HEADER_DONE, 24, 200, -1),
    CUT(""),
    CUT("Content-Type: text/html"),
    CUT("Content-Type: text/html\r\n"),
    CUT("Content-Type: text/html\r\n\r"),
    BAD("\r\n\r\nbody"),
    BAD("no colon\r\n\r\n"),
    BAD(": no name\r\n\r\n"),
    BAD("Name : space\r\n\r\n"),
    BAD(" folded: x\r\n\r\n"),
    BAD("A: b\r\n folded\r\n\r\n"),
    BAD("A: bare\rreturn\r\n\r\n"),
    BAD("A: nul\0in value\r\n\r\n"),
    BAD("A\0: x\r\n\r\n"),
    BAD("A: escape\x1b\r\n\r\n"),
    BAD("Status: 20\r\n\r\n"),
    BAD("Status: 2000\r\n\r\n"),
    BAD("Status: 100 Continue\r\n\r\n"),
    BAD("Status: 600\r\n\r\n"),
    BAD("Status: abc\r\n\r\n"),
    BAD("Status: 200\r\nStatus: 200\r\n\r\n"),
    BAD("Content-Length: \r\n\r\n"),
    BAD("Content-Length: -1\r\n\r\n"),
    BAD("Content-Length: 5 5\r\n\r\n"),
    BAD("Content-Length: 1234567890123456789\r\n\r\n"),
    BAD("Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
    BAD("Transfer-Encoding: chunked\r\n\r\n"),
};

static void blocks(void)
{
    for (size_t i = 0; i < COUNT_OF(header_cases); i++) {
        const struct header_case *test = &header_cases[i];
        struct cgi_header header;
        const char *why = NULL;
        enum cgi_header_result result =
            cgi_header_parse(span_of(test->output, test->output_length), &header, &why);
        if (result != test->result)
            fprintf(stderr, "header case failed: \"%s\" (%s)\n", test->output, why == NULL ? "" : why);
        CU_ASSERT_EQUAL(result, test->result);
        if (result == CGI_HEADER_DONE) {
            CU_ASSERT_EQUAL(header.length, test->length);
            CU_ASSERT_EQUAL(header.status, test->status);
            CU_ASSERT_EQUAL(header.content_length, test->content_length);
        } else if (result == CGI_HEADER_BAD) {
            CU_ASSERT_PTR_NOT_NULL(why);
        }
    }
}

/* More bytes never turn a refusal into something else, and no prefix is taken for a whole block. */
static void every_prefix(void)
{
    for (size_t i = 0; i < COUNT_OF(header_cases); i++) {
        const struct header_case *test = &header_cases[i];
        for (size_t length = 0; length < test->output_length; length++) {
            struct cgi_header header;
            const char *why = NULL;
            enum cgi_header_result result = cgi_header_parse(span_of(test->output, length), &header, &why);
            if (test->result == CGI_HEADER_DONE)
                CU_ASSERT_EQUAL(result, length < test->length ? CGI_HEADER_INCOMPLETE : CGI_HEADER_DONE);
            if (test->result == CGI_HEADER_INCOMPLETE)
                CU_ASSERT_EQUAL(result, CGI_HEADER_INCOMPLETE);
        }
    }
}

/* What goes to an HTTP client: the application's lines, each with CRLF, but for those that are the server's. */
static void copies(void)
{
    static const struct {
        const char *block, *copy;
        bool is_clean;
    } copied[] = {
        {"A: b\r\n\r\n", "A: b\r\n", true},
        {"A: b\r\n\n", "A: b\r\n", false},
        {"A: b\nC: d\r\n\r\n", "A: b\r\nC: d\r\n", false},
        {"Status: 404 Gone fishing\r\nA: b\r\n\r\n", "A: b\r\n", false},
        {"A: b\r\nconnection: close\r\nKeep-Alive: 5\r\n\r\n", "A: b\r\n", false},
        {"Upgrade: h2c\nProxy-Connection: close\nTrailer: x\nA:\n\n", "A:\r\n", false},
        {"Status: 204\r\n\r\n", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(copied); i++) {
        struct cgi_header header;
        const char *why = NULL;
        uint8_t copy[256];
        struct span block = span_text(copied[i].block);
        CU_ASSERT_EQUAL_FATAL(cgi_header_parse(block, &header, &why), CGI_HEADER_DONE);
        CU_ASSERT_EQUAL(header.is_clean, copied[i].is_clean);
        CU_ASSERT(span_is(span_of(copy, cgi_header_copy(&header, block.at, copy)), copied[i].copy));
    }
}

/* Also at every place of a long text, which is looked at in words. */
static void values_in_words(void)
{
    for (int byte = 0; byte < 256; byte++) {
        bool is_right = (byte >= ' ' && byte != 0x7f) || byte == '\t';
        for (size_t i = 0; i < 19; i++) {
            uint8_t text[19];
            memset(text, 0x80 + (int)i, sizeof text);
            text[i] = (uint8_t)byte;
            CU_ASSERT_EQUAL(token_is_value(span_of(text, sizeof text)), is_right);
        }
    }
}

static void tokens_and_values(void)
{
    CU_ASSERT(token_is_token(span_text("X-Name_1!")));
    CU_ASSERT_FALSE(token_is_token(span_text("")));
    CU_ASSERT_FALSE(token_is_token(span_text("a b")));
    CU_ASSERT_FALSE(token_is_token(span_text("a:b")));
    CU_ASSERT_FALSE(token_is_token(span_text("a\xe4")));
    CU_ASSERT(token_is_value(span_text("")));
    CU_ASSERT(token_is_value(span_text("a\tb \xc3\xa4")));
    CU_ASSERT_FALSE(token_is_value(span_text("a\r\nSet-Cookie: x")));
    CU_ASSERT_FALSE(token_is_value(span_of("a\0b", 3)));
    CU_ASSERT_FALSE(token_is_value(span_text("\x7f")));
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"header blocks", blocks},
        {"every prefix of every block", every_prefix},
        {"copies for HTTP", copies},
        {"tokens and values", tokens_and_values},
        {"values in words", values_in_words},
    };
    return suite_main("cgi_header", cases, COUNT_OF(cases), argc, argv);
}
