/*
 * mapping.c: reads /proc/PID/maps line by line. Pure; it opens nothing.
 */
#include "control/mapping.h"

#include <inttypes.h>
#include <stdio.h>

#define MEMFD   "/memfd:"
#define DELETED " (deleted)"

static void read_path(struct mapping *mapping)
{
    size_t length = strlen(mapping->path), mark = strlen(DELETED);
    mapping->deleted = length > mark && strcmp(mapping->path + length - mark, DELETED) == 0;
    if (mapping->deleted)
        mapping->path[length - mark] = '\0';
    mapping->memfd = mapping->deleted && strncmp(mapping->path, MEMFD, strlen(MEMFD)) == 0;
    const char *slash = strrchr(mapping->path, '/');
    if (mapping->memfd)
        mapping->name = mapping->path + strlen(MEMFD);
    else
        mapping->name = slash == NULL ? mapping->path : slash + 1;
}

static bool read_line(struct mapping *mapping, uintptr_t *offset, struct span text)
{
    char line[PATH_MAX + 128], rights[5];
    int path_at = 0;
    if (text.length >= sizeof line)
        return false;
    memcpy(line, text.at, text.length);
    line[text.length] = '\0';
    int items = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNxPTR " %*s %" SCNu64 " %n", &mapping->start,
                       &mapping->end, rights, offset, &mapping->inode, &path_at);
    size_t length = strlen(line + path_at);
    if (items != 5 || path_at == 0 || mapping->end <= mapping->start || length >= sizeof mapping->path)
        return false;
    mapping->executable = strchr(rights, 'x') != NULL;
    memcpy(mapping->path, line + path_at, length + 1);
    read_path(mapping);
    return true;
}

/* The file as a whole begins where its first bytes are. Counting back from a later part goes wrong for linkers that
 * leave gaps between the parts, so it is only for files whose first bytes were not seen. */
static void find_base(struct mapping_cursor *cursor, struct mapping *mapping, uintptr_t offset)
{
    if (offset == 0 || cursor->base == 0 || cursor->inode != mapping->inode) {
        cursor->base = mapping->start - offset;
        cursor->inode = mapping->inode;
    }
    mapping->base = cursor->base;
}

bool mapping_next(struct mapping_cursor *cursor, struct mapping *mapping)
{
    struct span *rest = &cursor->rest;
    const uint8_t *end;
    while (rest->length > 0 && (end = memchr(rest->at, '\n', rest->length)) != NULL) {
        uintptr_t offset;
        struct span line = span_take(rest, (size_t)(end - rest->at));
        (void)span_take(rest, 1);
        if (!read_line(mapping, &offset, line))
            continue;
        if (mapping->path[0] != '\0') /* .bss lies between the parts of a file and is anonymous */
            find_base(cursor, mapping, offset);
        else
            mapping->base = mapping->start;
        return true;
    }
    return false;
}

bool mapping_find(struct span maps, uintptr_t address, struct mapping *mapping)
{
    struct mapping_cursor cursor = {.rest = maps};
    while (mapping_next(&cursor, mapping))
        if (address >= mapping->start && address < mapping->end)
            return true;
    return false;
}
