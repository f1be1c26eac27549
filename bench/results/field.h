/* field.h: values of a JSON document by their path, where anything may be missing or of another type. */
#ifndef RESULTS_FIELD_H
#define RESULTS_FIELD_H

#include <jansson.h>
#include <stdbool.h>

/* Paths are names with dots between them: time_us.p99. Borrowed from the document; NULL when it is not there. */
const json_t *field_at(const json_t *document, const char *path);

double field_number(const json_t *document, const char *path);        /* NAN when it is no number */
const char *field_text(const json_t *document, const char *path);     /* "" when it is no text */
bool field_is(const json_t *document, const char *path, const char *text);
bool field_true(const json_t *document, const char *path);

/* A real number for JSON, null where it is none (NAN, infinite). */
json_t *field_real(double number) __attribute__((warn_unused_result));

#endif
