#!/bin/bash
# Stacks come and go: up, down, run with an interrupt, two side by side; nothing stays behind.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

stack() { # name command...: the stack in $dir/NAME
    local name=$1
    shift
    if [ ! -e "$dir/$name.port" ]; then
        free_port >"$dir/$name.port"
        at_end "MILLRACE_PORT=$(cat "$dir/$name.port") MILLRACE_STATE=$dir/$name '$root/runtime/stack' down"
    fi
    MILLRACE_PORT=$(cat "$dir/$name.port") MILLRACE_STATE=$dir/$name "$root/runtime/stack" "$@"
}
hello() { # name: the status of /hello in that stack
    MILLRACE_PORT=$(cat "$dir/$1.port") fetch_status /hello
}

direct_hello() { # name: the same without nginx
    MILLRACE_PORT=$(($(cat "$dir/$1.port") + 1)) fetch_status /hello
}
says_hello() { # name
    [ "$(hello "$1")" = 200 ]
}

# No process of that stack, no socket, no pid file, none of its ports.
check_stack_is_gone() { # name
    local left first port

    wait_until no_process_of "$dir/$1"
    left=$(find "$dir/$1" -type s -o -name '*.pid' -o -name '.s.PGSQL*' | head -n 3)
    check_equal '' "$left" 'left behind'
    first=$(cat "$dir/$1.port")
    for port in "$first" $((first + 1)) $((first + 2)); do
        port_is_free "$port" || fail "port $port is still open"
    done
}

case_two_side_by_side() {
    stack one up >"$dir/out" 2>&1 || fail "one: $(tail -n 1 "$dir/out")"
    stack two up >"$dir/out" 2>&1 || fail "two: $(tail -n 1 "$dir/out")"
    check_equal 200 "$(hello one)" one
    check_equal 200 "$(hello two)" two
    check_equal 200 "$(direct_hello one)" 'one, directly'
    check_equal 200 "$(direct_hello two)" 'two, directly'
    stack one down >"$dir/out" 2>&1 || fail "down: $(tail -n 1 "$dir/out")"
    check_stack_is_gone one
    check_equal 000 "$(hello one)" 'one after its end'
    check_equal 000 "$(direct_hello one)" 'one after its end, directly'
    check_equal 200 "$(hello two)" 'two after the end of one'
    check_equal 200 "$(direct_hello two)" 'two after the end of one, directly'
}

case_up_again_is_no_harm() {
    local port

    stack two up >"$dir/out" 2>&1 || fail "$(tail -n 1 "$dir/out")"
    check_equal 200 "$(hello two)"
    stack two status >"$dir/out" 2>&1 || fail "status: $(tail -n 1 "$dir/out")"
    port=$(cat "$dir/two.port")
    check_match "127\.0\.0\.1:$port/hello +http://127\.0\.0\.1:$((port + 1))/hello" "$(cat "$dir/out")"
    stack two check >"$dir/out" 2>&1 || fail "check: $(tail -n 1 "$dir/out")"
}

# An `up` that fails stops what it started, and nothing that ran before it.
case_a_failing_up_spares_a_running_stack() {
    local status=0

    stack two up >"$dir/out" 2>&1 || fail "$(tail -n 1 "$dir/out")"
    MILLRACE_PORT=$(free_port) MILLRACE_STATE=$dir/two "$root/runtime/stack" up >"$dir/out" 2>&1 || status=$?
    check_equal 1 "$status" 'exit status with another port'
    check_equal 200 "$(hello two)"
}

case_down_leaves_nothing() {
    stack two down >"$dir/out" 2>&1 || fail "$(tail -n 1 "$dir/out")"
    check_stack_is_gone two
    stack two down >"$dir/out" 2>&1 || fail "down of nothing: $(tail -n 1 "$dir/out")"
    if stack two status >"$dir/out" 2>&1; then fail 'status says that it runs'; fi
}

case_up_after_down_is_quick() {
    local start took

    start=$(now_ms)
    stack two up >"$dir/out" 2>&1 || fail "$(tail -n 1 "$dir/out")"
    took=$(($(now_ms) - start))
    check_equal 200 "$(hello two)"
    stack two down >"$dir/out" 2>&1
    [ "$took" -lt 20000 ] || fail "up took $took ms"
}

# The foreground stack and Ctrl-C. The interrupt goes to the whole process group, as a terminal sends it.
case_run_until_interrupted() {
    local pid status=0

    free_port >"$dir/run.port"
    at_end "MILLRACE_PORT=$(cat "$dir/run.port") MILLRACE_STATE=$dir/run '$root/runtime/stack' down"
    set -m
    MILLRACE_PORT=$(cat "$dir/run.port") MILLRACE_STATE=$dir/run "$root/runtime/stack" run </dev/null >"$dir/out" 2>&1 &
    pid=$!
    set +m
    cases_wait_ms=60000
    wait_until grep -q "http://127.0.0.1:$(cat "$dir/run.port")" "$dir/out"
    wait_until says_hello run
    kill -INT -- "-$pid"
    wait "$pid" || status=$?
    check_match '^(0|130)$' "$status" 'exit status'
    check_stack_is_gone run
}

case_a_port_in_use_is_one_clear_line() {
    local port status=0

    stack two up >"$dir/out" 2>&1 || fail "$(tail -n 1 "$dir/out")"
    port=$(cat "$dir/two.port")
    echo "$port" >"$dir/three.port"
    at_end "MILLRACE_PORT=$port MILLRACE_STATE=$dir/three '$root/runtime/stack' down"
    stack three up >"$dir/out" 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status'
    check_equal 1 "$(wc -l <"$dir/err")" "lines on standard error ($(head -c 300 "$dir/err"))"
    check_match "$port" "$(cat "$dir/err")"
    wait_until no_process_of "$dir/three"
    check_equal 200 "$(hello two)" 'the stack that has the port'
    stack two down >"$dir/out" 2>&1
    check_stack_is_gone two
}

# The ports after it, on which the server itself listens.
case_the_next_two_ports_in_use_are_one_clear_line() {
    local first status step

    stack two up >"$dir/out" 2>&1 || fail "$(tail -n 1 "$dir/out")"
    first=$(cat "$dir/two.port")
    for step in 1 2; do
        echo $((first - step)) >"$dir/below.port"
        at_end "MILLRACE_PORT=$((first - step)) MILLRACE_STATE=$dir/below '$root/runtime/stack' down"
        status=0
        stack below up >"$dir/out" 2>"$dir/err" || status=$?
        check_equal 1 "$status" "exit status of a stack $step below"
        check_equal 1 "$(wc -l <"$dir/err")" "lines on standard error ($(head -c 300 "$dir/err"))"
        check_match "port $first is in use .*MILLRACE_PORT" "$(cat "$dir/err")"
        wait_until no_process_of "$dir/below"
    done
    check_equal 200 "$(direct_hello two)" 'the stack that has the port'
    stack two down >"$dir/out" 2>&1
    check_stack_is_gone two
}

case_bad_usage() {
    local status

    for word in '' sideways --nonsense; do
        status=0
        # shellcheck disable=SC2086 # the empty word stands for none
        stack two $word >"$dir/out" 2>"$dir/err" || status=$?
        check_equal 2 "$status" "exit status of '$word'"
        check_equal '' "$(cat "$dir/out")" 'standard output'
    done
}

cases_run "$@"
