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

/* Makes room for as many as there is for entries. */
static int make_joined(struct variables *variables)
{
    size_t bytes = (size_t)variables->room * sizeof *variables->joined, count = (size_t)variables->count;
    struct variables_joined *larger = arena_take(variables->arena, bytes);
    if (larger == NULL)
        return -1;
    memset(larger, 0, bytes);
    if (variables->joined != NULL)
        memcpy(larger, variables->joined, count * sizeof *larger);
    variables->joined = larger;
    return 0;
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
    return variables->joined == NULL ? 0 : make_joined(variables);
}

int variables_set(struct variables *variables, int place, char *entry)
{
    if (entry == NULL)
        return -1;
    if (place < 0)
        return variables_add(variables, entry);
    variables->entries[place] = entry;
    if (variables->joined != NULL)
        variables->joined[place].room = 0;
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

/* Room for `more` bytes behind an entry's text. It doubles, so that a name which a client repeats a hundred times does
 * not take its whole value a hundred times: what all of them take is a few times what was sent. */
static struct variables_joined *make_room(struct variables *variables, int place, size_t more)
{
    if (variables->joined == NULL && make_joined(variables) < 0)
        return NULL;
    struct variables_joined *joined = &variables->joined[place];
    char *text = variables->entries[place];
    if (joined->room == 0)
        joined->length = (uint32_t)strlen(text);
    if (joined->room >= joined->length + more + 1)
        return joined;
    size_t room = 2 * (joined->length + more + 1);
    char *larger = arena_take(variables->arena, room);
    if (larger == NULL)
        return NULL;
    variables->entries[place] = memcpy(larger, text, joined->length);
    joined->room = (uint32_t)room;
    return joined;
}

/* Cookies have a separator of their own: RFC 6265 section 4.2.1. */
static int join(struct variables *variables, int place, const char *entry, size_t name_length)
{
    const char *separator = name_length == 11 && memcmp(entry, "HTTP_COOKIE", 11) == 0 ? "; " : ", ";
    size_t length = strlen(entry + name_length + 1);
    struct variables_joined *joined = make_room(variables, place, 2 + length);
    if (joined == NULL)
        return -1;
    char *end = variables->entries[place] + joined->length;
    memcpy(end, separator, 2);
    memcpy(end + 2, entry + name_length + 1, length + 1);
    joined->length += (uint32_t)(2 + length);
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
