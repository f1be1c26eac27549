/*
 * replay.c: runs a fuzzing entry over files, in place of libFuzzer: the corpus and every input that ever failed. Each
 * folder named is one case of `make test`.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_BYTES_MAX (1 << 20)

/* Returns 0, −1 when the file cannot be read. An input that fails ends the process. */
static int replay_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data = malloc(INPUT_BYTES_MAX);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL || data == NULL) {
        free(data);
        return -1;
    }
    size_t size = fread(data, 1, INPUT_BYTES_MAX, file);
    fclose(file);
    uint8_t *exact = realloc(data, size > 0 ? size : 1); /* so that a sanitizer sees a read beyond the end */
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

static int replay_folder(const char *title, const char *folder)
{
    int count = 0, failed = 0;
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        failed += replay_file(folder, entry->d_name) < 0;
        count++;
    }
    if (entries == NULL || failed > 0 || count == 0) {
        printf("not ok - %s: %s: %d files, %d unread\n", title, folder, count, failed);
        return 1;
    }
    closedir(entries);
    printf("ok - %s: %s (%d inputs)\n", title, folder, count);
    return 0;
}

int main(int argc, char **argv)
{
    int failures = 0;
    for (int i = 1; i < argc; i++)
        failures += replay_folder(program_invocation_short_name, argv[i]);
    return failures;
}
