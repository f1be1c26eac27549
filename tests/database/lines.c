/* lines.c: groups the log's lines by process and text. */
#include "lines.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "flow/server.h"
#include "suite.h"

enum { LINES_GROUPS = 64, LINES_TEXT = 300 };

struct lines_group {
    char text[LINES_TEXT];
    int count;
};

static FILE *lines_open(const struct server *server)
{
    char path[SERVER_PATH_MAX + 20];

    snprintf(path, sizeof path, "%s/log", server->directory);
    return fopen(path, "re");
}

long lines_size(const struct server *server)
{
    FILE *file = lines_open(server);
    long size = 0;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (file)
        fclose(file);
    return size;
}

/* The process, and the text without what counts: numbers, and what was left out before. */
static void lines_reduce(char *to, const char *line, const char *text)
{
    size_t length;
    int pid = 0;

    if (sscanf(line, "%*s %*s %d", &pid) != 1)
        sscanf(line, "%*s %*s %*s %d", &pid);
    if (text[0] == '(' && strchr(text, ')'))
        text = strchr(text, ')') + 1;
    length = (size_t)snprintf(to, LINES_TEXT, "%d: ", pid);
    for (; *text && *text != '\n' && length < LINES_TEXT - 1; text++) {
        if (!isdigit((unsigned char)*text))
            to[length++] = *text;
    }
    to[length] = '\0';
}

static struct lines_group *lines_group_of(struct lines_group *groups, const char *text)
{
    for (int i = 0; i < LINES_GROUPS; i++) {
        if (groups[i].count == 0)
            strcpy(groups[i].text, text);
        if (strcmp(groups[i].text, text) == 0)
            return &groups[i];
    }
    SUITE_FAIL("the log has more than %d texts about one failure, such as '%s'", LINES_GROUPS, text);
}

int lines_check(const struct server *server, long offset, const char *route, int took_ms)
{
    struct lines_group groups[LINES_GROUPS] = {{.count = 0}};
    char line[4096], mark[100], text[LINES_TEXT];
    FILE *file = lines_open(server);
    int count = 0, limit = took_ms / 1000 + 2;

    SUITE_CHECK(file && fseek(file, offset, SEEK_SET) == 0, "the log cannot be read");
    snprintf(mark, sizeof mark, " %s: ", route);
    while (fgets(line, sizeof line, file)) {
        char *found = strstr(line, mark);

        SUITE_CHECK(!strstr(line, "password=") && !strstr(line, "'right'"), "the log tells a password: %s", line);
        if (!found)
            continue;
        lines_reduce(text, line, found + strlen(mark));
        count++;
        lines_group_of(groups, text)->count++;
    }
    fclose(file);
    for (int i = 0; i < LINES_GROUPS; i++)
        SUITE_CHECK(groups[i].count <= limit, "%d lines in %d ms: '%s'", groups[i].count, took_ms, groups[i].text);
    return count;
}
