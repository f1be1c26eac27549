#!/bin/bash
# The application @NAME@, behind nginx and without it.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
stack_up

case_counts_visitors() {
    check_match 'You are visitor [0-9]+' "$(fetch /@NAME@)"
    check_match 'You are visitor [0-9]+' "$(fetch_direct /@NAME@)"
}

case_escapes_the_query() {
    check_match '&lt;b&gt;' "$(fetch '/@NAME@?<b>')"
}

cases_run "$@"
