/* test_documents.c: the manual page names every option. (The sample configuration is tried in tests/flow/test_install.sh.) */
#include <CUnit/CUnit.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "control/option.h"
#include "suite.h"

/* Run from the repository's root, as `make test` does. */
static char *read_file(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        SUITE_FAIL("cannot read %s: run from the repository's root", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || isspace((unsigned char)at[-1])) && (isspace((unsigned char)at[length]) || at[length] == '\0'))
            return true;
    return false;
}

static void manual_page(void)
{
    const char *page = read_file("runtime/man/millrace.conf.5");
    for (size_t i = 0; i < option_count; i++)
        SUITE_CHECK(has_word(page, option_table[i].name), "millrace.conf.5 does not name %s", option_table[i].name);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"the manual page names every option", manual_page},
    };
    return suite_main("documents", cases, COUNT_OF(cases), argc, argv);
}
