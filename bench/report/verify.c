/* verify.c: `millbench verify`: whether a report says what its raw files say; see verify.h. */
#include "report/verify.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "observe/digest.h"
#include "report/rendering.h"
#include "results/archive.h"
#include "results/field.h"
#include "results/results.h"
#include "words.h"

static const char who[] = "millbench verify";

/* -- raw files --------------------------------------------------------------------------------------------------- */

char *verify_raw_file(const char *folder, const json_t *entry)
{
    char digest[DIGEST_BYTES];
    int64_t size;
    const char *name = field_text(entry, "path");
    char *path = words("%s/%s", folder, name), *wrong = NULL;
    if (digest_of_file(digest, path, &size) < 0)
        wrong = words("%s: %s", name, strerror(errno));
    else if ((double)size != field_number(entry, "bytes") || !field_is(entry, "sha256", digest))
        wrong = words("%s: its SHA-256 is %s, results.json has %s", name, digest, field_text(entry, "sha256"));
    free(path);
    return wrong;
}

/* Both lists are in the order of their paths. */
static char *find_added(const json_t *there, const json_t *listed)
{
    size_t known = 0;
    for (size_t i = 0; i < json_array_size(there); i++) {
        const char *path = field_text(json_array_get(there, i), "path");
        while (known < json_array_size(listed) && strcmp(field_text(json_array_get(listed, known), "path"), path) < 0)
            known++;
        if (known == json_array_size(listed) || !field_is(json_array_get(listed, known), "path", path))
            return words("%s: results.json does not list it", path);
    }
    return NULL;
}

char *verify_raw(const char *folder, const json_t *listed)
{
    for (size_t i = 0; i < json_array_size(listed); i++) {
        char *wrong = verify_raw_file(folder, json_array_get(listed, i));
        if (wrong != NULL)
            return wrong;
    }
    json_t *there = archive_list(folder, who);
    char *wrong = there != NULL ? find_added(there, listed) : words("the raw files are not all there");
    json_decref(there);
    return wrong;
}

/* -- what is made of them ---------------------------------------------------------------------------------------- */

/* A packed report has some of its files beside the archive, and some in it. */
static char *path_of(const char *folder, const char *raw, const char *file)
{
    char *path = words("%s/%s", folder, file);
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return words("%s/%s", raw, file);
}

char *verify_bytes(const char *folder, const char *raw, const char *file, const char *expected, size_t length)
{
    char *path = path_of(folder, raw, file), *wrong = NULL;
    size_t size = 0, at = 0, line = 1;
    char *bytes = file_read(path, &size);
    if (bytes == NULL) {
        wrong = words("%s: %s", file, strerror(errno));
    } else if (size != length || memcmp(bytes, expected, length) != 0) {
        for (; at < size && at < length && bytes[at] == expected[at]; at++)
            line += bytes[at] == '\n';
        wrong = words("%s: line %zu is not what the raw files give", file, line);
    }
    free(bytes);
    free(path);
    return wrong;
}

static int say(const char *folder, char *wrong)
{
    if (wrong != NULL)
        fprintf(stderr, "%s: %s: %s\n", who, folder, wrong);
    free(wrong);
    return wrong != NULL;
}

/* All of them, so that one sees what is wrong and what is not. */
static int verify_renderings(const char *folder, const char *raw, const json_t *results)
{
    int wrong = 0;
    for (const struct rendering *r = renderings; r->file != NULL; r++) {
        char *bytes = r->render(results, who);
        wrong += bytes == NULL || say(folder, verify_bytes(folder, raw, r->file, bytes, strlen(bytes)));
        free(bytes);
    }
    return wrong;
}

static int verify_unpacked(const char *folder, const char *raw)
{
    char why[ARCHIVE_WHY_BYTES];
    json_t *stored = archive_json(raw, "results.json", why);
    if (stored == NULL)
        return say(folder, words("%s", why));
    json_t *listed = json_object_get(stored, "raw");
    int wrong = say(folder, verify_raw(raw, listed));
    size_t count = json_array_size(listed);
    json_t *results = wrong ? NULL : results_compute(raw, who);
    if (results != NULL)
        wrong = verify_renderings(folder, raw, results);
    if (results != NULL && !wrong)
        printf("%s: every number follows from its %zu raw files\n", folder, count);
    json_decref(stored);
    json_decref(results);
    return results == NULL || wrong;
}

static int verify(const char *folder)
{
    char *raw = archive_open(folder, who);
    int wrong = raw == NULL || verify_unpacked(folder, raw);
    archive_close(raw, folder);
    return wrong;
}

static void usage(FILE *out)
{
    fputs("usage: millbench verify REPORT\n\n"
          "Computes a report again from its raw files and compares every byte. REPORT is a run's folder or a file in "
          "it;\n"
          "in place of the raw files it may have run.tar.xz, which holds them and results.json.\n"
          "Exit status: 0 all of it follows from the raw files, 1 it does not, with the files that are not as they "
          "were.\n\n"
          "  -h, --help   this\n",
          out);
}

/* The folder itself, or the one that the file lies in; the caller frees it. */
static char *folder_of(const char *report)
{
    struct stat about;
    const char *slash = strrchr(report, '/');
    if (stat(report, &about) == 0 && !S_ISDIR(about.st_mode))
        return slash != NULL ? words("%.*s", (int)(slash - report), report) : words(".");
    size_t length = strlen(report);
    while (length > 1 && report[length - 1] == '/')
        length--;
    return words("%.*s", (int)length, report);
}

int verify_main(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option != 'h')
            return 2;
        usage(stdout);
        return 0;
    }
    if (argc - optind != 1) {
        usage(stderr);
        return 2;
    }
    char *folder = folder_of(argv[optind]);
    int wrong = verify(folder);
    free(folder);
    return wrong ? 1 : 0;
}
