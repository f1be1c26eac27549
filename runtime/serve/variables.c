/*
 * variables.c: puts variables together. Runs on lanes.
 */
#include "serve/variables.h"

#define FIRST_ROOM   64 /* what nginx sends are about 25 */
#define FIELD        "HTTP_"
#define FIELD_LENGTH (sizeof FIELD - 1)

void variables_init(struct variables *variables, struct arena *arena)
{
    *variables = (struct variables){.arena = arena, .script_name = -1, .path_info = -1};
}

char *variables_entry(struct variables *variables, const char *name, struct span value)
{
    size_t length = strlen(name);
    char *entry = arena_take(variables->arena, length + value.length + 2);
    if (entry == NULL)
        return NULL;
    memcpy(entry, name, length);
    entry[length] = '=';
    if (value.length > 0)
        memcpy(entry + length + 1, value.at, value.length);
    entry[length + 1 + value.length] = '\0';
    return entry;
}

int variables_reserve(struct variables *variables, int more)
{
    int room = variables->room > 0 ? variables->room : FIRST_ROOM;
    while (variables->count + more >= room)
        room *= 2;
    if (room == variables->room)
        return 0;
    char **larger = arena_take(variables->arena, (size_t)room * sizeof *larger);
    if (larger == NULL)
        return -1;
    if (variables->count > 0)
        memcpy(larger, variables->entries, (size_t)variables->count * sizeof *larger);
    variables->entries = larger;
    variables->room = room;
    return 0;
}

int variables_set(struct variables *variables, int place, char *entry)
{
    if (entry == NULL)
        return -1;
    if (place < 0)
        return variables_add(variables, entry);
    variables->entries[place] = entry;
    return 0;
}

static int find(const struct variables *variables, const char *name, size_t length)
{
    for (int i = 0; i < variables->count; i++)
        if (strncmp(variables->entries[i], name, length) == 0 && variables->entries[i][length] == '=')
            return i;
    return -1;
}

int variables_find(const struct variables *variables, const char *name)
{
    return find(variables, name, strlen(name));
}

const char *variables_value(const struct variables *variables, const char *name)
{
    int place = variables_find(variables, name);
    return place < 0 ? NULL : variables->entries[place] + strlen(name) + 1;
}

int variables_change(struct variables *variables, const char *name, struct span value)
{
    return variables_set(variables, variables_find(variables, name), variables_entry(variables, name, value));
}

/* Cookies have a separator of their own: RFC 6265 section 4.2.1. */
static int join(struct variables *variables, int place, const char *entry, size_t name_length)
{
    const char *first = variables->entries[place];
    const char *separator = name_length == 11 && memcmp(entry, "HTTP_COOKIE", 11) == 0 ? "; " : ", ";
    size_t first_length = strlen(first), more_length = strlen(entry + name_length + 1);
    char *joined = arena_take(variables->arena, first_length + 2 + more_length + 1);
    if (joined == NULL)
        return -1;
    memcpy(joined, first, first_length);
    memcpy(joined + first_length, separator, 2);
    memcpy(joined + first_length + 2, entry + name_length + 1, more_length + 1);
    variables->entries[place] = joined;
    return 0;
}

int variables_add_field(struct variables *variables, char *entry, size_t name_length)
{
    if (name_length > FIELD_LENGTH && memcmp(entry, FIELD, FIELD_LENGTH) == 0) {
        unsigned mix = (unsigned)name_length * 7 + (unsigned char)entry[FIELD_LENGTH] * 5 +
                       (unsigned char)entry[name_length - 1] * 3 + (unsigned char)entry[name_length / 2 + 2];
        if (name_length == 10 && memcmp(entry, "HTTP_PROXY", 10) == 0)
            return 0;
        uint64_t bit = UINT64_C(1) << (mix & 63);
        int place = variables->fields & bit ? find(variables, entry, name_length) : -1;
        variables->fields |= bit;
        if (place >= 0)
            return join(variables, place, entry, name_length);
    }
    return variables_add(variables, entry);
}

char **variables_end(struct variables *variables)
{
    if (variables->count == 0)
        return NULL;
    variables->entries[variables->count] = NULL;
    return variables->entries;
}
