/*
 * kind.h: the kinds of requests, each with a weight. Good ones get an answer, odd ones an answer or a refusal and the
 * connection goes on, bad ones cost the connection.
 */
#ifndef KIND_H
#define KIND_H

struct line;

struct kind {
    const char *name;
    unsigned weight;
    void (*add)(struct line *line); /* puts the bytes in `out`, and what must come back in `expects` */
    long chosen_count;
};

/* Each ends with an entry without a name. */
extern struct kind good_kinds[], odd_kinds[], bad_kinds[];

/* Asks the server at this address for /hello and keeps the body, which all later answers must have. */
void good_learn(const char *address);

/* One of all kinds, by weight. */
const struct kind *kind_choose(void);
void kind_print_counts(void);

#endif
