#!/bin/bash
# Slow clients on the server's own HTTP, and what they take from the others: bench/micro/slow in short, and interrupted.
# Case C57.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

MILLRACE_PORT=$(free_port)
export MILLRACE_PORT

slow() { # windows seconds [VARIABLE=value...]
    local windows=$1 seconds=$2
    shift 2
    env SLOW_WINDOWS="$windows" SLOW_WINDOW_S="$seconds" SLOW_RATE=200 SLOW_PERCENTILE=50 "SLOW_TEST=$dir" "$@" \
        "$root/bench/micro/slow" >"$dir/slow" 2>&1
}
# Everything that it starts has its environment.
no_process_left() {
    echo "SLOW_TEST=$dir" >"$dir/mark"
    ! grep -qsFf "$dir/mark" /proc/[0-9]*/environ
}

check_nobody_is_delayed() { # kinds
    [ "$(nproc)" -ge 2 ] || skip 'one CPU: two are needed, one serves, one asks'
    slow 3 1 "SLOW_KINDS=$1" || fail "$(tail -n 1 "$dir/slow")"
    check_match ': reached$' "$(tail -n 1 "$dir/slow")"
    check_equal 6 "$(grep -c '^window .* 200 requests, 0 failed;' "$dir/slow")" 'windows'
    check_equal 3 "$(grep -c '^window .*; slow: 132 of 132 connected, 0 had to come again' "$dir/slow")" 'with slow clients'
    no_process_left || fail 'processes are left'
}

case_slow_senders_delay_nobody() {
    check_nobody_is_delayed 'head body'
}

case_slow_senders_and_readers_that_stop_delay_nobody() {
    check_nobody_is_delayed 'head body upload reader'
}

case_bad_usage() {
    local status

    for word in SLOW_WINDOWS=0 SLOW_WINDOW_S=x SLOW_PERCENTILE=95 SLOW_BOUND_MS=-1; do
        status=0
        slow 1 1 "$word" || status=$?
        check_equal 2 "$status" "exit status with $word"
    done
}

case_an_interrupt_leaves_nothing() {
    local pid status=0

    [ "$(nproc)" -ge 2 ] || skip 'one CPU: two are needed, one serves, one asks'
    set -m
    slow 1 30 &
    pid=$!
    set +m
    wait_until grep -q 'slow clients (head body upload reader)' "$dir/slow"
    wait_until pgrep -g "$pid" -f steady_client
    kill -INT -- "-$pid"
    wait "$pid" || status=$?
    check_equal 130 "$status" 'exit status'
    wait_until no_process_left
}

cases_run "$@"
