/*
 * load.c: `millbench load` from its command line to its report.
 */
#include "load/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "load/load_report.h"

static int hash_files(char **paths)
{
    int status = 0;
    for (; *paths != NULL; paths++) {
        struct body body;
        char text[BODY_TEXT_BYTES];
        if (body_set_read_file(&body, *paths) < 0) {
            fprintf(stderr, "millbench load: --hash: %s: %s\n", *paths, strerror(errno));
            status = 1;
            continue;
        }
        body_set_print(text, body);
        printf("%s  %s\n", text, *paths);
    }
    return status;
}

static int cannot_write(const char *path)
{
    fprintf(stderr, "millbench load: --json: %s: %s\n", path, strerror(errno));
    return 1;
}

/* Opened before the load, so that nobody waits for a result that cannot be kept. */
static int report(const struct load_options *options, const struct crew_result *result, FILE *json)
{
    int status = load_report_is_right(result) ? 0 : 1;
    if (!options->json)
        load_report_text(stdout, options, result);
    if (json != NULL && load_report_json(json, options, result) < 0)
        status = cannot_write(options->json_file != NULL ? options->json_file : "standard output");
    return status;
}

static int run(const struct load_options *options)
{
    struct load_url url;
    struct crew_result result;
    const char *why = load_url_parse(&url, options->url);
    if (why != NULL) {
        fprintf(stderr, "millbench load: %s: %s; millbench load --help tells more\n", options->url, why);
        return 2;
    }
    FILE *json = options->json ? stdout : NULL;
    if (options->json_file != NULL && (json = fopen(options->json_file, "w")) == NULL)
        return cannot_write(options->json_file);
    if (!options->json)
        load_report_plan(stdout, options);
    int status = crew_run(options, &url, &result);
    if (status == 0) {
        status = report(options, &result, json);
        crew_result_fini(&result);
    }
    if (options->json_file != NULL && fclose(json) != 0)
        status = cannot_write(options->json_file);
    return status;
}

int load_main(int argc, char **argv)
{
    struct load_options options;
    int status = load_options_read(&options, argc, argv);
    if (status == 0 && options.help)
        fputs(load_options_usage, stdout);
    else if (status == 0 && options.hashed != NULL)
        status = hash_files(options.hashed);
    else if (status == 0)
        status = run(&options);
    load_options_fini(&options);
    return status;
}
