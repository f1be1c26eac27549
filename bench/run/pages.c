/* pages.c: the right bodies of a run, in its folder; see pages.h. */
#include "run/pages.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "file.h"
#include "load/body_set.h"
#include "words.h"

#define BODY_KEPT_BYTES 65536 /* larger ones would make the archive large, and no server is asked to repeat them */

char *pages_list(const char *folder, const char *path, const char *workload)
{
    return words("%s/%s.%s.list", folder, path, workload);
}

/* -- what a target says ----------------------------------------------------------------------------------------------
 */

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Adds the body in the file, or those of all files in the folder. Returns 0, -1 with errno. */
static int add_expected(struct body_set *set, const char *expected)
{
    struct stat about;
    struct body body;
    if (stat(expected, &about) < 0)
        return -1;
    if (!S_ISDIR(about.st_mode)) {
        if (body_set_read_file(&body, expected) < 0)
            return -1;
        body_set_add(set, body);
        return 0;
    }
    struct dirent **entries;
    int count = scandir(expected, &entries, not_hidden, alphasort), result = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        char *file = words("%s/%s", expected, entries[i]->d_name);
        if (result == 0 && (result = body_set_read_file(&body, file)) == 0)
            body_set_add(set, body);
        free(file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return result;
}

static bool holds_all(const struct body_set *large, const struct body_set *small)
{
    size_t index;
    for (size_t i = 0; i < small->count; i++)
        if (body_set_match(large, small->bodies[i], &index) != BODY_RIGHT)
            return false;
    return true;
}

/* -- what is in the folder --------------------------------------------------------------------------------------------
 */

/* Returns 1, 0 when there is no such list, -1 after errno or a wrong line. */
static int read_list(struct body_set *set, const char *file)
{
    unsigned line = 0;
    *set = (struct body_set){0};
    if (access(file, F_OK) < 0)
        return 0;
    return body_set_read_list(set, file, &line) == 0 ? 1 : -1;
}

static char *write_list(const struct body_set *set, const char *file)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);
    CHECK(out != NULL);
    for (size_t i = 0; i < set->count; i++) {
        char text[BODY_TEXT_BYTES];
        body_set_print(text, set->bodies[i]);
        fprintf(out, "%s\n", text);
    }
    CHECK(fclose(out) == 0);
    char *reason = file_write(file, bytes, length) < 0 ? words("%s: %s", file, strerror(errno)) : NULL;
    free(bytes);
    return reason;
}

/* The body itself, for servers that repeat it: of the first page of that workload that is a single file. */
static char *keep_body(const char *folder, const struct target_page *page)
{
    struct stat about;
    if (stat(page->expected, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size > BODY_KEPT_BYTES)
        return NULL;
    char *file = words("%s/%s.body", folder, page->workload), *reason = NULL;
    if (access(file, F_OK) < 0) {
        size_t length = 0;
        char *bytes = file_read(page->expected, &length);
        if (bytes == NULL || file_write(file, bytes, length) < 0)
            reason = words("%s: %s", file, strerror(errno));
        free(bytes);
    }
    free(file);
    return reason;
}

/* -- comparing
 * --------------------------------------------------------------------------------------------------------- */

/* A page that nobody has told of on this path must be that of the other paths: one body of several, or the several. */
static char *check_others(const char *folder, const struct target_page *page, const struct body_set *given)
{
    static const char *const paths[] = {"direct", "proxied", "static", "peer"};
    char *reason = NULL;
    for (size_t i = 0; reason == NULL && i < COUNT_OF(paths); i++) {
        char *file = pages_list(folder, paths[i], page->workload);
        struct body_set known;
        if (read_list(&known, file) > 0 && !holds_all(&known, given) && !holds_all(given, &known))
            reason =
                words("its page %s %s is another than %s %s", page->path, page->workload, paths[i], page->workload);
        body_set_fini(&known);
        free(file);
    }
    return reason;
}

static char *compare(const char *folder, const struct target_page *page, const struct body_set *given)
{
    char *file = pages_list(folder, page->path, page->workload), *reason = NULL;
    struct body_set known;
    int there = read_list(&known, file);
    if (there < 0)
        reason = words("%s is no list of bodies", file);
    else if (there == 0 && (reason = check_others(folder, page, given)) == NULL)
        reason = write_list(given, file);
    else if (there > 0 && !holds_all(&known, given))
        reason = words("its page %s %s is another than before", page->path, page->workload);
    body_set_fini(&known);
    free(file);
    return reason;
}

static char *check_page(const char *folder, const struct target_page *page)
{
    struct body_set given = {0};
    char *reason = NULL;
    if (add_expected(&given, page->expected) < 0)
        reason = words("the right body of %s %s, %s: %s", page->path, page->workload, page->expected, strerror(errno));
    else if (given.count == 0)
        reason = words("there is no right body of %s %s in %s", page->path, page->workload, page->expected);
    if (reason == NULL)
        reason = compare(folder, page, &given);
    if (reason == NULL)
        reason = keep_body(folder, page);
    body_set_fini(&given);
    return reason;
}

char *pages_check(const char *folder, const struct target *target)
{
    char *reason = NULL;
    for (size_t i = 0; reason == NULL && i < target->page_count; i++)
        reason = check_page(folder, &target->pages[i]);
    return reason;
}

long pages_length(const char *folder, const char *path, const char *workload)
{
    char *file = pages_list(folder, path, workload);
    struct body_set known;
    long length = -1;
    if (read_list(&known, file) > 0) {
        length = (long)known.bodies[0].length;
        for (size_t i = 1; i < known.count; i++)
            if (known.bodies[i].length != known.bodies[0].length)
                length = -1;
    }
    body_set_fini(&known);
    free(file);
    return length;
}

/* -- for run.json
 * --------------------------------------------------------------------------------------------------------- */

static int is_list(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end != NULL && strcmp(end, ".list") == 0;
}

static json_t *list_json(const char *folder, const char *name)
{
    char path[64], workload[64];
    if (sscanf(name, "%63[^.].%63[^.].list", path, workload) != 2)
        return NULL;
    char *file = words("%s/%s", folder, name);
    struct body_set known;
    json_t *bodies = json_array();
    if (read_list(&known, file) > 0)
        for (size_t i = 0; i < known.count; i++) {
            char text[BODY_TEXT_BYTES];
            body_set_print(text, known.bodies[i]);
            json_array_append_new(bodies, json_string(text));
        }
    body_set_fini(&known);
    free(file);
    return json_pack("{s:s, s:s, s:o}", "path", path, "workload", workload, "bodies", bodies);
}

json_t *pages_json(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_list, alphasort);
    json_t *all = json_array();
    for (int i = 0; i < count; i++) {
        json_t *one = list_json(folder, entries[i]->d_name);
        if (one != NULL)
            json_array_append_new(all, one);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return all;
}
