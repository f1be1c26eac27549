/*
 * mailbox.h: hands things to the thread that runs a lane, and wakes it.
 *
 * Threads: any thread posts; only the owner collects. Ordering: a post is a release that the collecting exchange
 * acquires, so what the poster wrote before is visible to the collector.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct mail {
    struct mail *next;
    int kind; /* the owner's: what it is a part of */
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

/* Posts without a wake-up: for who knows that the owner will look. Returns true when the mailbox was empty. */
bool mailbox_put(struct mailbox *mailbox, struct mail *mail);

static inline bool mailbox_is_empty(struct mailbox *mailbox)
{
    return atomic_load_explicit(&mailbox->newest, memory_order_relaxed) == NULL;
}

/* Returns what was posted, oldest first, linked by `next`. The descriptor is watched edge-triggered: each wake-up is an event,
 * and nobody reads them. */
struct mail *mailbox_collect(struct mailbox *mailbox);

#endif
