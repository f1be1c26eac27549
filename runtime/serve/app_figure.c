/*
 * app_figure.c: makes, adds to and reads an application's figures.
 */
#include "serve/app_figure.h"

#include <string.h>

/* -- names ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, size_t length, const char *end)
{
    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

bool app_figure_is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < APP_FIGURE_NAME_BYTES && name[length] == '\0' && !ends_with(name, length, "_total") &&
           !ends_with(name, length, "_created");
}

/* Cut off where a character of UTF-8 ends. */
static void copy_help(char to[APP_FIGURE_HELP_BYTES], const char *help)
{
    size_t length = strnlen(help, APP_FIGURE_HELP_BYTES);
    if (length == APP_FIGURE_HELP_BYTES)
        for (length--; length > 0 && ((unsigned char)help[length] & 0xc0) == 0x80;)
            length--;
    memcpy(to, help, length);
    to[length] = '\0';
}

/* -- the worker -------------------------------------------------------------------------------------------------- */

static struct mr_figure *find(const struct app_figures *figures, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(figures->all[i].name, name) == 0)
            return &figures->all[i];
    return NULL;
}

static struct mr_figure *refuse(const char **why, const char *text)
{
    *why = text;
    return NULL;
}

struct mr_figure *app_figure_new(const struct app_figures *figures, bool counts, const char *name, const char *help,
                                 const char **why)
{
    if (name == NULL || !app_figure_is_name(name))
        return refuse(why, "names are of a-z, 0-9 and _, at most 31 bytes, and end in neither _total nor _created");
    int count = figures->all == NULL ? APP_FIGURES_MAX : atomic_load_explicit(figures->count, memory_order_relaxed);
    struct mr_figure *figure = figures->all == NULL ? NULL : find(figures, count, name);
    if (figure != NULL)
        return (figure->counts != 0) == counts ? figure : refuse(why, "there is one of this name and the other kind");
    if (count == APP_FIGURES_MAX)
        return refuse(why, "a route has room for 16");
    figure = &figures->all[count];
    figure->counts = counts;
    strcpy(figure->name, name);
    copy_help(figure->help, help == NULL ? "" : help);
    atomic_store_explicit(figures->count, count + 1, memory_order_release);
    return figure;
}

/* Relaxed: a figure orders nothing. */
void app_figure_add(struct mr_figure *figure, int64_t more)
{
    if (figure != NULL && (more > 0 || figure->counts == 0))
        atomic_fetch_add_explicit(&figure->value, more, memory_order_relaxed);
}

/* -- other processes --------------------------------------------------------------------------------------------- */

bool app_figure_read(const struct app_figures *figures, int place, struct app_figure *to)
{
    if (place >= APP_FIGURES_MAX || place >= atomic_load_explicit(figures->count, memory_order_acquire))
        return false;
    const struct mr_figure *from = &figures->all[place];
    memcpy(to->name, from->name, sizeof to->name);
    memcpy(to->help, from->help, sizeof to->help);
    to->name[sizeof to->name - 1] = to->help[sizeof to->help - 1] = '\0';
    to->counts = from->counts != 0;
    to->value = atomic_load_explicit(&from->value, memory_order_relaxed);
    if (to->counts && to->value < 0)
        to->value = 0;
    return app_figure_is_name(to->name);
}
