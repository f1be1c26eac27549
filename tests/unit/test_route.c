/* test_route.c: the longest prefix on segment boundaries. */
#include <CUnit/CUnit.h>

#include "base/check.h"
#include "serve/route.h"
#include "suite.h"

static const struct settings_route with_root[] = {{.path = "/"}, {.path = "/a"}, {.path = "/a/b"}, {.path = "/abc"}};

struct find_case {
    const char *path, *route; /* route NULL: none */
};

static void find(const struct settings_route *routes, size_t count, const struct find_case *cases, size_t case_count)
{
    struct settings settings = {.routes = routes, .route_count = count};
    struct route_table table;
    CU_ASSERT_EQUAL_FATAL(route_table_init(&table, &settings), 0);
    for (size_t i = 0; i < case_count; i++) {
        struct mr_route *route = route_find(&table, span_text(cases[i].path));
        const char *found = route == NULL ? "(none)" : route->settings->path;
        const char *expected = cases[i].route == NULL ? "(none)" : cases[i].route;
        if (strcmp(found, expected) != 0)
            fprintf(stderr, "route case failed: %s leads to %s\n", cases[i].path, found);
        CU_ASSERT_STRING_EQUAL(found, expected);
    }
    route_table_fini(&table);
}

static void longest_prefix(void)
{
    static const struct find_case cases[] = {
        {"/", "/"},       {"/x", "/"},       {"/a", "/a"},      {"/a/", "/a"},     {"/a/x", "/a"},     {"/a/b", "/a/b"},
        {"/a/b/", "/a/b"}, {"/a/bc", "/a"},   {"/abc", "/abc"},  {"/abc/d", "/abc"}, {"/abcd", "/"},     {"/ab", "/"},
        {"", NULL},       {"a", NULL},
    };
    find(with_root, COUNT_OF(with_root), cases, COUNT_OF(cases));
}

static void without_a_root(void)
{
    static const struct find_case cases[] = {{"/", NULL}, {"/x", NULL}, {"/a", "/a"}, {"/abcd", NULL}, {"//a", NULL}};
    find(with_root + 1, COUNT_OF(with_root) - 1, cases, COUNT_OF(cases));
}

static void options(void)
{
    static const struct settings_option values[] = {{"a", "1"}, {"b", ""}};
    static const struct settings_route route = {.path = "/a", .options = values, .option_count = 2};
    struct mr_route made = {.settings = &route};
    CU_ASSERT_STRING_EQUAL(route_option(&made, "a"), "1");
    CU_ASSERT_STRING_EQUAL(route_option(&made, "b"), "");
    CU_ASSERT_PTR_NULL(route_option(&made, "c"));
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"longest prefix on segment boundaries", longest_prefix},
        {"without a route for /", without_a_root},
        {"options of a route", options},
    };
    return suite_main("route", cases, COUNT_OF(cases), argc, argv);
}
