#!/bin/bash
# The database goes away and comes back: the stack stays up, its page says 503 and recovers by itself. Cases C61, C67.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
stack_up

database_answers() {
    [ "$(fetch_status /database)" = 200 ]
}
database_is_away() {
    [ "$(fetch_status /database)" = 503 ]
}
worker_pids() {
    pgrep -P "$(cat "$MILLRACE_STATE"/millrace*.pid | head -n 1)" | sort -n | tr '\n' ' '
}

case_away_and_back_without_a_restart() {
    local before head

    before=$(worker_pids)
    [ -n "$before" ] || fail 'no workers found'
    wait_until database_answers
    "$root/db/cluster" down >"$dir/cluster" 2>&1
    wait_until database_is_away
    head=$(curl -sS -o /dev/null -D - --max-time 10 "http://127.0.0.1:$MILLRACE_PORT/database")
    check_match 'Retry-After: [0-9]+' "$head"
    check_equal 200 "$(fetch_status /hello)" 'another route meanwhile'
    "$root/db/cluster" up >"$dir/cluster" 2>&1
    wait_until database_answers
    for _ in {1..40}; do check_equal 460 "$(fetch /database | wc -c)"; done
    check_equal "$before" "$(worker_pids)" 'workers'
}

case_a_database_that_is_away_is_refused_quickly() {
    local start took

    "$root/db/cluster" down >"$dir/cluster" 2>&1
    wait_until database_is_away
    start=$(now_ms)
    for _ in {1..20}; do check_equal 503 "$(fetch_status /database)"; done
    took=$(($(now_ms) - start))
    "$root/db/cluster" up >"$dir/cluster" 2>&1
    wait_until database_answers
    [ "$took" -lt 4000 ] || fail "20 refusals took $took ms"
}

case_killed_backends() {
    local status bad=0

    wait_until database_answers
    for _ in {1..5}; do
        "$root/db/cluster" psql -At -c \
            'SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL' \
            >"$dir/killed"
        for _ in {1..10}; do
            status=$(fetch_status /database)
            case $status in 200) ;; 503) bad=$((bad + 1)) ;; *) fail "status $status" ;; esac
        done
    done
    wait_until database_answers
    [ "$bad" -le 20 ] || fail "$bad of 50 requests failed"
}

# The runtime starts without a database; only its page waits for one.
case_start_without_a_database() {
    "$root/db/cluster" down >"$dir/cluster" 2>&1
    "$root/runtime/spawn" restart >"$dir/spawn" 2>&1 || fail "$(tail -n 1 "$dir/spawn")"
    check_equal 200 "$(fetch_status /hello)"
    check_equal 503 "$(fetch_status /database)"
    "$root/db/cluster" up >"$dir/cluster" 2>&1
    wait_until database_answers
}

cases_run "$@"
