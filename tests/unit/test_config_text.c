/* test_config_text.c: the pure parts of reading a configuration: braces, numbers, addresses. */
#include <CUnit/CUnit.h>
#include <string.h>

#include "base/address.h"
#include "base/check.h"
#include "control/braces.h"
#include "control/option.h"
#include "suite.h"

struct braces_case {
    const char *text;
    int open_line; /* 0: everything is closed */
};

static const struct braces_case braces_cases[] = {
    {"", 0},
    {"a = 1\n", 0},
    {"app \"/x\" {\n}\n", 0},
    {"app \"/x\" {\n", 1},
    {"a = 1\napp \"/x\" {\n options {\n }\n", 2},
    {"a = 1\napp \"/x\" {\n options {\n", 3},
    {"# {\n// {\n/* { */\n", 0},
    {"a = \"{\"\nb = '{'\n", 0},
    {"a = \"\\\"{\"\n", 0},
    {"a = \"it's }\"\n{", 2},
    {"x\n/* never\nclosed", 2},
    {"x\n/* star * / *\n", 2},
    {"x\na = \"never\nclosed", 2},
    {"x\na = 'never", 2},
    {"a = /path/to/{x}\n", 0},
};

static void braces(void)
{
    for (size_t i = 0; i < COUNT_OF(braces_cases); i++) {
        const struct braces_case *test = &braces_cases[i];
        for (size_t split = 0; split <= strlen(test->text); split++) {
            struct braces state = {0};
            char text[128];
            strcpy(text, test->text);
            braces_feed(&state, text, split);
            braces_feed(&state, text + split, strlen(text) - split);
            const char *why = braces_end(&state);
            CU_ASSERT_EQUAL(why != NULL, test->open_line != 0);
            if (why != NULL)
                CU_ASSERT_EQUAL(state.open_line, test->open_line);
        }
    }
}

static void comments(void)
{
    static const char *const cases[][2] = {
        {"a # b\nc", "a    \nc"},       {"a // b\nc", "a     \nc"}, {"a /* b\nc */ d", "a     \n     d"},
        {"\"# /* //\"", "\"# /* //\""}, {"'#' #", "'#'  "},          {"a/b", "a/b"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct braces state = {0};
        char text[128];
        strcpy(text, cases[i][0]);
        braces_feed(&state, text, strlen(text));
        CU_ASSERT_STRING_EQUAL(text, cases[i][1]);
    }
}

struct number_case {
    const char *option, *text;
    int64_t number; /* −1: refused */
};

static const struct number_case number_cases[] = {
    {"workers", "1", 1},          {"workers", "1024", 1024},    {"workers", "0", -1},
    {"workers", "1025", -1},      {"workers", "", -1},          {"workers", "-1", -1},
    {"workers", "+1", -1},        {"workers", "2x", -1},        {"workers", "auto", -1},
    {"workers", "99999999999999999999", -1},                    {"lanes", "auto", 0},
    {"lanes", "4", 4},            {"max_body", "1M", 1048576},  {"max_body", "64k", 65536},
    {"max_body", "2G", INT64_C(2147483648)},                    {"max_body", "0", 0},
    {"max_body", "1T", -1},       {"max_body", "1MB", -1},      {"max_body", "M", -1},
    {"max_body", "99999999999999999G", -1},                     {"socket_mode", "0660", 0660},
    {"socket_mode", "888", -1},   {"socket_mode", "1777", -1},  {"idle_timeout", "0", -1},
};

static void numbers(void)
{
    for (size_t i = 0; i < COUNT_OF(number_cases); i++) {
        const struct number_case *test = &number_cases[i];
        int64_t number = -2;
        const char *why = option_read_number(option_find(test->option), test->text, &number);
        if ((why == NULL) != (test->number >= 0) || (why == NULL && number != test->number))
            fprintf(stderr, "number case failed: %s = %s\n", test->option, test->text);
        CU_ASSERT_EQUAL(why == NULL, test->number >= 0);
        if (why == NULL)
            CU_ASSERT_EQUAL(number, test->number);
    }
}

/* Every default in the table is one that the option itself accepts. */
static void defaults(void)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        int64_t number;
        if (option->unset != NULL && option->type <= OPTION_MODE)
            CU_ASSERT_PTR_NULL(option_read_number(option, option->unset, &number));
    }
}

struct address_case {
    const char *text;
    bool understood;
};

static const struct address_case address_cases[] = {
    {"unix:/run/x.sock", true}, {"127.0.0.1:9000", true}, {"[::1]:9000", true},   {"0.0.0.0:1", true},
    {":9000", false},           {"9000", false},          {"localhost:9000", false}, {"127.0.0.1:0", false},
    {"127.0.0.1:99999", false}, {"127.0.0.1:", false},    {"127.0.0.1:90x", false}, {"127.0.0.1: 90", false},
    {"::1:9000", false},        {"[::1]", false},         {"[::1:9000", false},   {"unix:relative", false},
    {"unix:", false},           {"", false},              {"127.0.0.1:+80", false}, {"127.0.0.256:80", false},
};

static void addresses(void)
{
    char longest[256] = "unix:/";
    struct address address;
    for (size_t i = 0; i < COUNT_OF(address_cases); i++) {
        const char *why = address_parse(&address, address_cases[i].text);
        if ((why == NULL) != address_cases[i].understood)
            fprintf(stderr, "address case failed: %s\n", address_cases[i].text);
        CU_ASSERT_EQUAL(why == NULL, address_cases[i].understood);
    }
    memset(longest + 6, 'x', 106); /* with the slash 107 bytes */
    CU_ASSERT_PTR_NULL(address_parse(&address, longest));
    longest[112] = 'x';
    CU_ASSERT_PTR_NOT_NULL(address_parse(&address, longest));
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"braces, texts and comments", braces},
        {"comments become blanks", comments},
        {"numbers of options", numbers},
        {"defaults of options", defaults},
        {"addresses", addresses},
    };
    return suite_main("config_text", cases, COUNT_OF(cases), argc, argv);
}
