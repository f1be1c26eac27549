/* report.c: `millbench report`: a run's folder gets its results and the pages that show them; see report.h. */
#include "report/report.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "report/rendering.h"
#include "results/results.h"
#include "words.h"

static int write_file(const char *folder, const struct rendering *rendering, const json_t *results, const char *who)
{
    char *bytes = rendering->render(results, who), *path = words("%s/%s", folder, rendering->file);
    int failed = bytes == NULL ? -1 : file_write(path, bytes, strlen(bytes));
    if (bytes != NULL && failed != 0)
        fprintf(stderr, "%s: %s: %s\n", who, path, strerror(errno));
    free(bytes);
    free(path);
    return failed;
}

int report_write(const char *folder, const char *who)
{
    json_t *results = results_compute(folder, who);
    if (results == NULL)
        return -1;
    int failed = 0;
    for (const struct rendering *r = renderings; failed == 0 && r->file != NULL; r++)
        failed = write_file(folder, r, results, who);
    json_decref(results);
    return failed;
}

static void usage(FILE *out)
{
    fputs("usage: millbench report [OPTION...] FOLDER\n\n"
          "Computes the results of a run from its raw files, and writes into its folder results.json, results.csv,\n"
          "report.html and report.md, which it also prints.\n\n"
          "  -q, --quiet   prints nothing\n"
          "  -h, --help    this\n",
          out);
}

static int print_markdown(const char *folder)
{
    char *path = words("%s/report.md", folder), *text = file_read(path, NULL);
    free(path);
    int failed = text == NULL || fputs(text, stdout) == EOF || fflush(stdout) == EOF;
    free(text);
    return failed;
}

int report_main(int argc, char **argv)
{
    static const struct option options[] = {{"quiet", no_argument, NULL, 'q'}, {"help", no_argument, NULL, 'h'}, {0}};
    int quiet = 0;
    for (int option; (option = getopt_long(argc, argv, "qh", options, NULL)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            return 0;
        }
        if (option != 'q')
            return 2;
        quiet = 1;
    }
    if (argc - optind != 1) {
        usage(stderr);
        return 2;
    }
    char *folder = argv[optind];
    for (size_t length = strlen(folder); length > 1 && folder[length - 1] == '/'; length--)
        folder[length - 1] = '\0';
    if (report_write(folder, "millbench report") != 0)
        return 1;
    return quiet ? 0 : print_markdown(folder);
}
