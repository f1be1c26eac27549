/*
 * hosts.h: the servers that a connection string names, in turn. libpq tries several by itself, but without a time limit for
 * each when it may not block.
 */
#ifndef DB_HOSTS_H
#define DB_HOSTS_H

#include "options.h"

enum { HOSTS_MAX = 16 };

struct host {
    const char *host, *hostaddr, *port; /* NULL: libpq's own choice; owned by the hosts' memory */
};

struct hosts {
    int count;   /* at least 1 */
    int tries;   /* to be made in turn: the hosts, twice for prefer-standby */
    bool prefer; /* target_session_attrs=prefer-standby: standbys first, then any */
    struct host each[HOSTS_MAX];
    char *memory;
};

/* One host without names stands for whatever libpq makes of the connection string: none is named in it, or more than
 * HOSTS_MAX, or the lists do not fit together (libpq then says so). Returns 0, −1 when memory is short. */
int hosts_read(struct hosts *hosts, const struct options *options) MR_MUST_CHECK;
void hosts_fini(struct hosts *hosts);

/* The keywords of host and target for the try of this number. Writes at most HOSTS_KEYWORDS; returns how many. */
enum { HOSTS_KEYWORDS = 4 };
int hosts_keywords(const struct hosts *hosts, int number, const char **names, const char **values);

/* Whether the try's own keywords take this one's place in the connection string. */
bool hosts_replace(const struct hosts *hosts, const char *keyword);

#endif
