/*
 * form.h: the fields of a query string or of a form's body (application/x-www-form-urlencoded). Pure.
 * Source: URL Standard section 5.1, but strict: what is no text, since an escape is none, or holds a NUL byte or no
 * well-formed UTF-8, is told apart instead of being mended.
 */
#ifndef SERVE_FORM_H
#define SERVE_FORM_H

#include "base/span.h"

#define FORM_FIELDS_MAX 1000

/* A name or value that is no text is NULL. */
struct form_field {
    const char *name, *value;
};

/* How many fields there are. */
size_t form_count(struct span form);

/* Decodes all of them, in order. `fields` has room for form_count() of them, `texts` for the form's length and two bytes more
 * a field; the fields point into it. */
void form_decode(struct span form, struct form_field *fields, char *texts);

/* The first field of this name, NULL: there is none. */
const struct form_field *form_find(const struct form_field *fields, size_t count, const char *name);

#endif
