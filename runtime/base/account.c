/*
 * account.c: looks up accounts and switches to them. Runs at start, on the only thread.
 */
#include "base/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

int account_find_user(const char *name, uid_t *user, gid_t *group)
{
    const struct passwd *entry = getpwnam(name);
    if (entry == NULL)
        return -1;
    *user = entry->pw_uid;
    *group = entry->pw_gid;
    return 0;
}

int account_find_group(const char *name, gid_t *group)
{
    const struct group *entry = getgrnam(name);
    if (entry == NULL)
        return -1;
    *group = entry->gr_gid;
    return 0;
}

/* Libraries look for files of their own there (libpq for certificates), and may not look into another's. */
static int take_home(uid_t user)
{
    const struct passwd *entry = getpwuid(user);
    return setenv("HOME", entry == NULL ? "/" : entry->pw_dir, 1);
}

int account_become(const struct account *account)
{
    if (!account->change)
        return 0;
    if (initgroups(account->name, account->group) < 0 || setgid(account->group) < 0 || setuid(account->user) < 0)
        return -1;
    if (account->user != 0 && setuid(0) == 0) {
        errno = EPERM; /* rights that can be taken back were not given up */
        return -1;
    }
    return take_home(account->user);
}
