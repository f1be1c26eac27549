/*
 * body_set.c: a hash table of bodies, and its texts and files.
 */
#include "load/body_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Returns the slot of the body, or the free one where it belongs. */
static size_t find_slot(const struct body_set *set, struct body body)
{
    size_t slot = body.hash & (set->slot_count - 1);
    while (set->slots[slot] != 0) {
        const struct body *other = &set->bodies[set->slots[slot] - 1];
        if (other->hash == body.hash && other->length == body.length)
            break;
        slot = (slot + 1) & (set->slot_count - 1);
    }
    return slot;
}

static void grow(struct body_set *set)
{
    set->room = set->room == 0 ? 8 : set->room * 2;
    set->slot_count = set->room * 4;
    set->bodies = reallocarray(set->bodies, set->room, sizeof *set->bodies);
    free(set->slots);
    set->slots = calloc(set->slot_count, sizeof *set->slots);
    CHECK(set->bodies != NULL && set->slots != NULL);
    for (size_t i = 0; i < set->count; i++)
        set->slots[find_slot(set, set->bodies[i])] = (uint32_t)i + 1;
}

void body_set_add(struct body_set *set, struct body body)
{
    if (set->count == set->room)
        grow(set);
    size_t slot = find_slot(set, body);
    if (set->slots[slot] != 0)
        return;
    set->bodies[set->count++] = body;
    set->slots[slot] = (uint32_t)set->count;
}

static bool has_length(const struct body_set *set, uint64_t length)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->bodies[i].length == length)
            return true;
    return false;
}

enum body_match body_set_match(const struct body_set *set, struct body body, size_t *index)
{
    if (set->count == 0)
        return BODY_WRONG_LENGTH;
    uint32_t found = set->slots[find_slot(set, body)];
    if (found == 0)
        return has_length(set, body.length) ? BODY_WRONG_HASH : BODY_WRONG_LENGTH;
    *index = found - 1;
    return BODY_RIGHT;
}

int body_set_parse(struct body *body, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || text[digits] != ':')
        return -1;
    const char *hash = text + digits + 1;
    size_t length = strspn(hash, "0123456789abcdefABCDEF");
    if (length != 16 || (hash[length] != '\0' && strchr(" \t\r\n", hash[length]) == NULL))
        return -1;
    body->length = strtoull(text, NULL, 10);
    body->hash = strtoull(hash, NULL, 16);
    return 0;
}

void body_set_print(char text[BODY_TEXT_BYTES], struct body body)
{
    snprintf(text, BODY_TEXT_BYTES, "%" PRIu64 ":%016" PRIx64, body.length, body.hash);
}

int body_set_read_file(struct body *body, const char *path)
{
    static char bytes[65536];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    XXH3_state_t *state = XXH3_createState();
    CHECK(state != NULL && XXH3_64bits_reset(state) == XXH_OK);
    size_t got;
    body->length = 0;
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0) {
        XXH3_64bits_update(state, bytes, got);
        body->length += got;
    }
    int why = ferror(file) ? errno : 0;
    body->hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    fclose(file);
    errno = why;
    return why == 0 ? 0 : -1;
}

int body_set_read_list(struct body_set *set, const char *path, unsigned *line)
{
    char *text = NULL;
    size_t room = 0;
    unsigned number = 0;
    *line = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    while (getline(&text, &room, file) >= 0 && *line == 0) {
        struct body body;
        number++;
        if (text[0] == '#' || text[strspn(text, " \t\r\n")] == '\0')
            continue;
        if (body_set_parse(&body, text) < 0)
            *line = number;
        else
            body_set_add(set, body);
    }
    int why = ferror(file) ? errno : 0;
    free(text);
    fclose(file);
    errno = why;
    return *line == 0 && why == 0 ? 0 : -1;
}

void body_set_fini(struct body_set *set)
{
    free(set->bodies);
    free(set->slots);
    *set = (struct body_set){0};
}
