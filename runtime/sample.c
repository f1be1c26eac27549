/*
 * sample.c: prints the sample configuration that is installed below a prefix. A program of its own, used while
 * building.
 *
 *     sample /usr/local
 */
#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "control/option.h"

/* What an option without a default could be, so that each line holds with and without its `#`. */
static const struct example {
    const char *option, *value;
    bool in_force; /* not a comment: a site with nginx on the same machine needs it */
} examples[] = {
    {"fastcgi", "unix:/run/millrace/millrace.sock", true},
    {"http", "127.0.0.1:8081", false},
    {"forwarded_from", "10.0.0.0/8", false},
    {"proxy_protocol_from", "10.0.0.1", false},
    {"socket_group", "www-data", true},
    {"status", "127.0.0.1:8082", false},
    {"socket_owner", "root", false},
    {"group", "www-data", false},
    {"log", "/var/log/millrace/millrace.log", false},
    {"access_log", "/var/log/millrace/access.log", false},
    {"pid_file", "/run/millrace/millrace.pid", false},
};

static const struct example *example_of(const struct option *option)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        if (strcmp(examples[i].option, option->name) == 0)
            return &examples[i];
    return NULL;
}

static const char *unit_of(enum option_type type)
{
    switch (type) {
    case OPTION_BYTES:
        return " (bytes; K, M, G)";
    case OPTION_SECONDS:
        return " (seconds)";
    case OPTION_MILLISECONDS:
        return " (ms)";
    case OPTION_MODE:
        return " (octal)";
    default:
        return "";
    }
}

static void print_value(enum option_type type, const char *value)
{
    if (type == OPTION_LIST)
        printf("{ \"%s\" }\n", value);
    else if (type == OPTION_TEXT || type == OPTION_MODE)
        printf("\"%s\"\n", value);
    else
        printf("%s\n", value);
}

static void print_option(const struct option *option, const char *margin)
{
    const struct example *example = example_of(option);
    CHECK(option->unset != NULL || example != NULL); /* a new option: give it an example above */
    printf("%s# %s%s\n%s%s%s = ", margin, option->help, unit_of(option->type), margin,
           example != NULL && example->in_force ? "" : "#", option->name);
    print_value(option->type, example != NULL ? example->value : option->unset);
}

static void print_globals(void)
{
    for (size_t i = 0; i < option_count; i++) {
        if (!(option_table[i].scopes & OPTION_GLOBAL))
            continue;
        print_option(&option_table[i], "");
        putchar('\n');
    }
}

static void print_application(const char *prefix)
{
    printf("app \"/app/hello\" {\n    # %s\n    file = \"%s/lib/millrace/apps/hello.so\"\n", option_find("file")->help,
           prefix);
    for (size_t i = 0; i < option_count; i++)
        if ((option_table[i].scopes & OPTION_APP) && strcmp(option_table[i].name, "file") != 0)
            print_option(&option_table[i], "    ");
    printf("    # for the application: mr_option(req, \"greeting\")\n"
           "    #options { greeting = \"Good day\" }\n}\n");
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    printf("# Millrace's configuration: copy this file to /etc/millrace/millrace.conf. Every option stands here, those "
           "that\n"
           "# are comments with their defaults or, where there is none, with an example; see millrace.conf(5).\n\n");
    print_globals();
    print_application(argv[1]);
    return fflush(stdout) == 0 ? 0 : 1;
}
