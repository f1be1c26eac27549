/* html_text.c: text as HTML; see html_text.h. */
#include "report/html_text.h"

void html_text(struct table *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<': table_add(out, "&lt;"); break;
        case '>': table_add(out, "&gt;"); break;
        case '&': table_add(out, "&amp;"); break;
        case '"': table_add(out, "&quot;"); break;
        case '\'': table_add(out, "&#39;"); break;
        default: table_add(out, "%c", *text);
        }
    }
}
