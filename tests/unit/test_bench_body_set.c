/* test_bench_body_set.c: which bodies are allowed, their texts, and files of them. */
#include <CUnit/CUnit.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "load/body_set.h"
#include "suite.h"

static void matches(void)
{
    struct body_set set = {0};
    size_t index = 99;
    CU_ASSERT_EQUAL(body_set_match(&set, (struct body){0, 0}, &index), BODY_WRONG_LENGTH);
    body_set_add(&set, (struct body){10, 7});
    body_set_add(&set, (struct body){11, 7}); /* the same hash, which meets it in the table */
    body_set_add(&set, (struct body){10, 7});
    CU_ASSERT_EQUAL(set.count, 2);
    CU_ASSERT(body_set_match(&set, (struct body){11, 7}, &index) == BODY_RIGHT && index == 1);
    CU_ASSERT(body_set_match(&set, (struct body){10, 7}, &index) == BODY_RIGHT && index == 0);
    CU_ASSERT_EQUAL(body_set_match(&set, (struct body){10, 8}, &index), BODY_WRONG_HASH);
    CU_ASSERT_EQUAL(body_set_match(&set, (struct body){12, 7}, &index), BODY_WRONG_LENGTH);
    body_set_fini(&set);
}

static void many(void)
{
    enum { COUNT = 20000 };
    struct body_set set = {0};
    for (uint64_t i = 0; i < COUNT; i++)
        body_set_add(&set, (struct body){i % 100, i * 4096}); /* the low bits are alike */
    CU_ASSERT_EQUAL(set.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        size_t index;
        CU_ASSERT_FATAL(body_set_match(&set, (struct body){i % 100, i * 4096}, &index) == BODY_RIGHT && index == i);
        CU_ASSERT_FATAL(body_set_match(&set, (struct body){i % 100, i * 4096 + 1}, &index) == BODY_WRONG_HASH);
    }
    body_set_fini(&set);
}

static void texts(void)
{
    static const char *const wrong[] = {"",
                                        ":",
                                        "5",
                                        "5:",
                                        "5:123",
                                        ":0123456789abcdef",
                                        "5:0123456789abcdefa",
                                        "-5:0123456789abcdef",
                                        " 5:0123456789abcdef",
                                        "5:0123456789abcdeg",
                                        "5 :0123456789abcdef",
                                        "1234567890123456789:0123456789abcdef",
                                        "5:0123456789abcdef,"};
    struct body body;
    char text[BODY_TEXT_BYTES];
    CU_ASSERT_FATAL(body_set_parse(&body, "450:0123456789abcDEF  pages/hello.html\n") == 0);
    CU_ASSERT(body.length == 450 && body.hash == UINT64_C(0x0123456789abcdef));
    body_set_print(text, body);
    CU_ASSERT_STRING_EQUAL(text, "450:0123456789abcdef");
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++)
        SUITE_CHECK(body_set_parse(&body, wrong[i]) < 0, "'%s' is taken", wrong[i]);
    body_set_print(text, (struct body){UINT64_MAX, UINT64_MAX});
    CU_ASSERT_STRING_EQUAL(text, "18446744073709551615:ffffffffffffffff");
}

static char path[] = "/tmp/millbench-body-set.XXXXXX";

static void write_file(const void *bytes, size_t length)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
}

static void files(void)
{
    static char bytes[200000];
    struct body body;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 999);
    write_file(bytes, sizeof bytes);
    CU_ASSERT(body_set_read_file(&body, path) == 0 && body.length == sizeof bytes);
    CU_ASSERT(body.hash == XXH3_64bits(bytes, sizeof bytes));
    unlink(path);
    CU_ASSERT(body_set_read_file(&body, path) < 0 && errno == ENOENT);
    write_file("", 0);
    CU_ASSERT(body_set_read_file(&body, path) == 0 && body.length == 0 && body.hash == XXH3_64bits("", 0));
    unlink(path);
    CU_ASSERT(body_set_read_file(&body, "/tmp") < 0 && errno == EISDIR);
}

static void lists(void)
{
    static const char good[] = "# fortunes\n\n3:0000000000000001  a\n4:0000000000000002\r\n3:0000000000000001";
    static const char bad[] = "3:0000000000000001\n\nnonsense\n4:0000000000000002\n";
    struct body_set set = {0};
    unsigned line;
    write_file(good, sizeof good - 1);
    CU_ASSERT(body_set_read_list(&set, path, &line) == 0 && set.count == 2);
    unlink(path);
    CU_ASSERT(body_set_read_list(&set, path, &line) < 0 && line == 0 && errno == ENOENT);
    write_file(bad, sizeof bad - 1);
    CU_ASSERT(body_set_read_list(&set, path, &line) < 0 && line == 3);
    unlink(path);
    body_set_fini(&set);
}

static const struct suite_case cases[] = {
    {"matches", matches}, {"many", many}, {"texts", texts}, {"files", files}, {"lists", lists},
};

int main(int argc, char **argv)
{
    return suite_main("bench_body_set", cases, SUITE_COUNT(cases), argc, argv);
}
