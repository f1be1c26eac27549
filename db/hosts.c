/* hosts.c: see hosts.h. Pure. */
#include "hosts.h"

#include <stdlib.h>
#include <string.h>

static int list_length(const char *list)
{
    int length = 1;
    for (; *list != '\0'; list++)
        length += *list == ',';
    return length;
}

/* Cuts a list at its commas, into the given places. */
static void list_cut(char *list, int count, const char **places, size_t stride)
{
    for (int i = 0; i < count; i++) {
        char *comma = strchr(list, ',');
        if (comma != NULL)
            *comma = '\0';
        *(const char **)((char *)places + (size_t)i * stride) = *list == '\0' ? NULL : list;
        if (comma != NULL)
            list = comma + 1;
    }
}

/* How many hosts two of the lists name, 0 when they do not fit together. Each has `count` elements, or one for all
 * (ports). */
static int agreed_count(const char *host, const char *hostaddr, const char *port)
{
    const char *named = hostaddr != NULL ? hostaddr : host;
    if (named == NULL)
        return 0;
    int count = list_length(named);
    if (host != NULL && list_length(host) != count)
        return 0;
    int ports = port == NULL ? 1 : list_length(port);
    return count > HOSTS_MAX || (ports != 1 && ports != count) ? 0 : count;
}

static char *append(char *memory, const char *text)
{
    return text == NULL ? memory : stpcpy(memory, text) + 1;
}

static size_t size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static int cut_all(struct hosts *hosts, const char *host, const char *hostaddr, const char *port)
{
    hosts->memory = malloc(size_of(host) + size_of(hostaddr) + size_of(port));
    if (hosts->memory == NULL)
        return -1;
    char *addresses = append(hosts->memory, host);
    char *ports = append(addresses, hostaddr);
    append(ports, port);
    if (host != NULL)
        list_cut(hosts->memory, hosts->count, &hosts->each[0].host, sizeof *hosts->each);
    if (hostaddr != NULL)
        list_cut(addresses, hosts->count, &hosts->each[0].hostaddr, sizeof *hosts->each);
    if (port == NULL)
        return 0;
    bool one_for_all = list_length(port) == 1;
    list_cut(ports, one_for_all ? 1 : hosts->count, &hosts->each[0].port, sizeof *hosts->each);
    for (int i = 1; one_for_all && i < hosts->count; i++)
        hosts->each[i].port = hosts->each[0].port;
    return 0;
}

int hosts_read(struct hosts *hosts, const struct options *options)
{
    const char *host = options_conninfo(options, "host"), *hostaddr = options_conninfo(options, "hostaddr");
    const char *port = options_conninfo(options, "port"), *target = options_conninfo(options, "target_session_attrs");
    *hosts = (struct hosts){.count = agreed_count(host, hostaddr, port)};
    if (hosts->count <= 1) {
        hosts->count = hosts->tries = 1;
        return 0;
    }
    hosts->prefer = target != NULL && strcmp(target, "prefer-standby") == 0;
    hosts->tries = hosts->prefer ? 2 * hosts->count : hosts->count;
    return cut_all(hosts, host, hostaddr, port);
}

void hosts_fini(struct hosts *hosts)
{
    free(hosts->memory);
    hosts->memory = NULL;
}

bool hosts_replace(const struct hosts *hosts, const char *keyword)
{
    if (hosts->count == 1)
        return false;
    return strcmp(keyword, "host") == 0 || strcmp(keyword, "hostaddr") == 0 || strcmp(keyword, "port") == 0 ||
           (hosts->prefer && strcmp(keyword, "target_session_attrs") == 0);
}

int hosts_keywords(const struct hosts *hosts, int number, const char **names, const char **values)
{
    if (hosts->count == 1)
        return 0;
    const struct host *host = &hosts->each[number % hosts->count];
    const char *target = number < hosts->count ? "standby" : "any";
    const char *const all[][2] = {{"host", host->host},
                                  {"hostaddr", host->hostaddr},
                                  {"port", host->port},
                                  {"target_session_attrs", hosts->prefer ? target : NULL}};
    int count = 0;
    for (int i = 0; i < HOSTS_KEYWORDS; i++) {
        if (all[i][1] == NULL)
            continue;
        names[count] = all[i][0];
        values[count++] = all[i][1];
    }
    return count;
}
