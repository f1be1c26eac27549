/*
 * account.h: the user and group that a process turns into.
 */
#ifndef BASE_ACCOUNT_H
#define BASE_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#define ACCOUNT_NAME_BYTES 64

struct account {
    bool change; /* false: stay who we are */
    uid_t user;
    gid_t group;
    char name[ACCOUNT_NAME_BYTES];
};

/* Each returns 0, −1 when there is no such user or group. Blocks on the name service. */
int account_find_user(const char *name, uid_t *user, gid_t *group) __attribute__((warn_unused_result));
int account_find_group(const char *name, gid_t *group) __attribute__((warn_unused_result));

/* Gives up every other right, for good. Returns 0, −1 with errno. */
int account_become(const struct account *account) __attribute__((warn_unused_result));

#endif
