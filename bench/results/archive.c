/* archive.c: the files that a run's results are computed from; see archive.h. */
#include "results/archive.h"

#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "file.h"
#include "observe/digest.h"
#include "words.h"

#define OPEN_FOLDERS 16
#define PACKED       "run.tar.xz"

extern char **environ;

/* nftw tells its visitor nothing about whom it works for. */
static struct {
    json_t *list;
    size_t prefix; /* bytes of the folder's name and its slash */
    char *failed;
} walk;

static int add_file(const char *path)
{
    char digest[DIGEST_BYTES];
    int64_t size;
    if (digest_of_file(digest, path, &size) < 0) {
        walk.failed = words("%s: %s", path, strerror(errno));
        return 1;
    }
    json_array_append_new(walk.list, json_pack("{s:s, s:I, s:s}", "path", path + walk.prefix, "bytes", (json_int_t)size,
                                               "sha256", digest));
    return 0;
}

static int visit(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)where;
    return type == FTW_F || type == FTW_SL ? add_file(path) : 0;
}

static int by_path(const void *a, const void *b)
{
    const json_t *one = *(json_t *const *)a, *other = *(json_t *const *)b;
    return strcmp(json_string_value(json_object_get(one, "path")), json_string_value(json_object_get(other, "path")));
}

/* The order of a folder's entries is nobody's promise. */
static json_t *sorted(json_t *list)
{
    size_t count = json_array_size(list);
    json_t **entries = calloc(count + 1, sizeof *entries), *result = json_array();
    CHECK(entries != NULL);
    for (size_t i = 0; i < count; i++)
        entries[i] = json_array_get(list, i);
    qsort(entries, count, sizeof *entries, by_path);
    for (size_t i = 0; i < count; i++)
        json_array_append(result, entries[i]);
    free(entries);
    json_decref(list);
    return result;
}

json_t *archive_list(const char *folder, const char *who)
{
    static const char *const places[] = {"plan.conf", "run.json", "raw"};
    walk.list = json_array();
    walk.prefix = strlen(folder) + 1;
    walk.failed = NULL;
    for (size_t i = 0; walk.failed == NULL && i < COUNT_OF(places); i++) {
        char *path = words("%s/%s", folder, places[i]);
        if (nftw(path, visit, OPEN_FOLDERS, FTW_PHYS) < 0 && walk.failed == NULL)
            walk.failed = words("%s: %s", path, strerror(errno));
        free(path);
    }
    if (walk.failed == NULL)
        return sorted(walk.list);
    fprintf(stderr, "%s: %s: this is no run's folder, or not all of it\n", who, walk.failed);
    free(walk.failed);
    json_decref(walk.list);
    return NULL;
}

json_t *archive_json(const char *folder, const char *path, char error[ARCHIVE_WHY_BYTES])
{
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    char *whole = words("%s/%s", folder, path);
    size_t length = 0;
    char *text = file_read(whole, &length);
    json_error_t why;
    json_t *read = text == NULL ? NULL : json_loadb(text, length, 0, &why);
    if (text == NULL)
        snprintf(error, ARCHIVE_WHY_BYTES, "%s: %s", name, strerror(errno));
    else if (read == NULL)
        snprintf(error, ARCHIVE_WHY_BYTES, "%s is no JSON (line %d: %.100s)", name, why.line, why.text);
    free(text);
    free(whole);
    return read;
}

/* -- packed -------------------------------------------------------------------------------------------------------- */

static bool has(const char *folder, const char *file)
{
    char *path = words("%s/%s", folder, file);
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

/* Returns 0, -1 after tar has said why. */
static int unpack(const char *folder, const char *into)
{
    char *file = words("%s/%s", folder, PACKED);
    const char *const arguments[] = {"tar", "-x", "-J", "--no-same-owner", "-f", file, "-C", into, NULL};
    pid_t pid;
    int status = -1, error = posix_spawnp(&pid, "tar", NULL, NULL, (char **)arguments, environ);
    free(file);
    return error == 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

char *archive_open(const char *folder, const char *who)
{
    const char *above = getenv("TMPDIR");
    if (has(folder, "run.json") || !has(folder, PACKED))
        return words("%s", folder);
    char *raw = words("%s/millbench.XXXXXX", above != NULL && *above != '\0' ? above : "/tmp");
    bool made = mkdtemp(raw) != NULL;
    if (made && unpack(folder, raw) == 0)
        return raw;
    fprintf(stderr, "%s: %s/%s: it cannot be unpacked\n", who, folder, PACKED);
    if (made)
        (void)!file_remove_tree(raw);
    free(raw);
    return NULL;
}

void archive_close(char *raw, const char *folder)
{
    if (raw != NULL && strcmp(raw, folder) != 0)
        (void)!file_remove_tree(raw);
    free(raw);
}
