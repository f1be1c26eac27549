#!/bin/bash
# What is shipped holds to rules that no compiler knows: applications and nginx's configurations. Cases C15, C92, C96, C104,
# C105.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

# Lines of the shipped files that are no comments.
applications() {
    find "$root/apps" -name '*.c' -print0 | xargs -0 cat
}
configurations() {
    find "$root/nginx-conf" -type f -print0 | xargs -0 cat | grep -v '^[[:space:]]*#'
}

# libfcgi's own printf stops at %zu and others.
case_applications_use_no_printf_of_libfcgi() {
    check_equal 0 "$(applications | grep -cE 'FCGX_(V?FPrintF)' || true)" 'uses of FCGX_FPrintF'
    [ "$(applications | grep -c mr_printf)" -gt 0 ] || fail 'found no application that prints'
}

# The lengths of these variables can change between two readings inside nginx.
case_nginx_passes_no_tcpinfo() {
    check_equal 0 "$(configurations | grep -c '\$tcpinfo_' || true)" 'tcpinfo variables'
}

case_nginx_says_when_it_repeats_a_request() {
    check_equal 1 "$(configurations | grep -c '^fastcgi_next_upstream ')" 'settings of fastcgi_next_upstream'
}

# A location's own parameter makes nginx forget the inherited ones.
case_parameters_are_included_where_they_are_used() {
    local file

    for file in "$root"/nginx-conf/*; do
        case ${file##*/} in millrace.params | front) continue ;; esac
        check_equal 0 "$(grep -cE '^[[:space:]]*fastcgi_param' "$file" || true)" "parameters in ${file##*/}"
    done
}

# What shows what came from outside shows it as plain text.
case_applications_that_show_variables_send_plain_text() {
    check_match 'text/plain' "$(cat "$root/apps/env.c")"
    check_match 'X-Content-Type-Options: nosniff' "$(cat "$root/apps/env.c")"
}

cases_run "$@"
