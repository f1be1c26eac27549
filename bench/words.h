/* words.h: a formatted text of its own. */
#ifndef BENCH_WORDS_H
#define BENCH_WORDS_H

/* Returns the text, which the caller frees. */
char *words(const char *format, ...) __attribute__((format(printf, 1, 2), warn_unused_result));

#endif
