/*
 * mailbox.h: hands things to the thread that runs a lane, and wakes it.
 *
 * Threads: any thread posts; only the owner collects. Ordering: a post is a release that the collecting exchange
 * acquires, so what the poster wrote before is visible to the collector.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <stdatomic.h>

struct mail {
    struct mail *next;
};

struct mailbox {
    _Atomic(struct mail *) newest;
    int fd; /* eventfd, readable when there may be something to collect */
};

/* Returns 0, −1 with errno. */
int mailbox_init(struct mailbox *mailbox) __attribute__((warn_unused_result));
void mailbox_fini(struct mailbox *mailbox);

void mailbox_post(struct mailbox *mailbox, struct mail *mail);
void mailbox_wake(struct mailbox *mailbox);

/* Clears the descriptor. Returns what was posted, oldest first, linked by `next`. */
struct mail *mailbox_collect(struct mailbox *mailbox);

#endif
