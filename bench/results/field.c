/* field.c: values of a JSON document by their path; see field.h. */
#include "results/field.h"

#include <math.h>
#include <string.h>

#define NAME_BYTES 128

const json_t *field_at(const json_t *document, const char *path)
{
    while (document != NULL && *path != '\0') {
        char name[NAME_BYTES];
        size_t length = strcspn(path, ".");
        if (length >= sizeof name)
            return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        document = json_object_get(document, name);
        path += length + (path[length] == '.');
    }
    return document;
}

double field_number(const json_t *document, const char *path)
{
    const json_t *value = field_at(document, path);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *field_text(const json_t *document, const char *path)
{
    const char *text = json_string_value(field_at(document, path));
    return text != NULL ? text : "";
}

bool field_is(const json_t *document, const char *path, const char *text)
{
    return strcmp(field_text(document, path), text) == 0;
}

bool field_true(const json_t *document, const char *path)
{
    return json_is_true(field_at(document, path));
}

json_t *field_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}
