/* main.c: millbench: finds the subcommand that was asked for and hands over to it.
 *
 * Each subcommand is a function NAME_main of its own folder, which reads its options with getopt_long from argv[0] =
 * its name, prints its results on standard output and everything else on standard error, and returns the exit status: 0
 * as asked, 1 could not (or: what was measured is not right), 2 bad usage.
 */
#include "main.h"

#include <stdio.h>
#include <string.h>

#include "gate/gate.h"
#include "load/load.h"
#include "report/compare.h"
#include "report/report.h"
#include "report/verify.h"
#include "run/run.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
};

static const struct command commands[] = {
    {"load", load_main, "generate load over HTTP and verify every reply"},
    {"run", run_main, "measure what a plan says"},
    {"report", report_main, "compute and show the results of a run"},
    {"verify", verify_main, "compute a report again and compare every byte"},
    {"compare", compare_main, "compare two runs of one build"},
    {"gate", gate_main, "compare this build with another revision, in one run"},
    {NULL, NULL, NULL},
};

static void usage(FILE *out)
{
    fputs("usage: millbench COMMAND [OPTION...]; millbench COMMAND --help tells the options\n\n", out);
    for (const struct command *c = commands; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->what);
}

static const struct command *find(const char *name)
{
    for (const struct command *c = commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

static int is_one_of(const char *name, const char *first, const char *second)
{
    return !strcmp(name, first) || !strcmp(name, second);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (is_one_of(argv[1], "--help", "-h")) {
        usage(stdout);
        return 0;
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        printf("millbench %s, method %d\n", MR_VERSION, MILLBENCH_METHOD);
        return 0;
    }
    const struct command *command = find(argv[1]);
    if (!command) {
        fprintf(stderr, "millbench: %s: no such command; millbench --help lists them\n", argv[1]);
        return 2;
    }
    return command->run(argc - 1, argv + 1);
}
