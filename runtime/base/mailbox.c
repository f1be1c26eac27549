/*
 * mailbox.c: a stack of posted things beside an eventfd. Does not own what is posted.
 */
#include "base/mailbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/race.h"

int mailbox_init(struct mailbox *mailbox)
{
    atomic_init(&mailbox->newest, NULL);
    mailbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return mailbox->fd < 0 ? -1 : 0;
}

void mailbox_fini(struct mailbox *mailbox)
{
    close(mailbox->fd);
    mailbox->fd = -1;
}

void mailbox_wake(struct mailbox *mailbox)
{
    /* The counter cannot overflow, and a full one is readable: nothing to do about the result. */
    uint64_t one = 1;
    ssize_t written = write(mailbox->fd, &one, sizeof one);
    (void)written;
}

bool mailbox_put(struct mailbox *mailbox, struct mail *mail)
{
    struct mail *newest = atomic_load_explicit(&mailbox->newest, memory_order_relaxed);
    do
        mail->next = newest;
    while (!atomic_compare_exchange_weak(&mailbox->newest, &newest, mail));
    return newest == NULL;
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail)
{
    bool was_empty = mailbox_put(mailbox, mail);
    RACE_POINT(mailbox_posted);
    if (was_empty)
        mailbox_wake(mailbox); /* Otherwise whoever made it non-empty has woken the owner. */
}

struct mail *mailbox_collect(struct mailbox *mailbox)
{
    RACE_POINT(mailbox_read);
    struct mail *mail = atomic_exchange_explicit(&mailbox->newest, NULL, memory_order_acquire);
    struct mail *oldest = NULL;
    while (mail != NULL) {
        struct mail *next = mail->next;
        mail->next = oldest;
        oldest = mail;
        mail = next;
    }
    return oldest;
}
