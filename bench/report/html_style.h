/* html_style.h: how a report looks: both colour schemes, phones, print. */
#ifndef REPORT_HTML_STYLE_H
#define REPORT_HTML_STYLE_H

extern const char html_style[];

#endif
