#!/bin/bash
# The spawn script: start, stop, restart, status; what lies at the socket's path; crashes. Cases C31, C32, C36.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

# A state directory with a configuration, as `runtime/stack` would leave it; the socket comes from the script.
state() { # name: sets state and sock
    state=$dir/$1
    sock=$state/millrace.sock
    [ ! -d "$state" ] || return 0
    runtime_conf "$1" >/dev/null <<'END'
fastcgi = { "unix:@DIR@/millrace.sock" }
workers = 2
threads = 4
lanes = 1
app "/hello" { file = "@APPS@/hello.so" }
END
    at_end "MILLRACE_STATE=$state '$root/runtime/spawn' stop"
}
spawn() { # command...: output in $dir/out and $dir/err; prints the exit status
    local status=0

    MILLRACE_STATE=$state timeout -k 2 60 "$root/runtime/spawn" "$@" </dev/null >"$dir/out" 2>"$dir/err" || status=$?
    echo "$status"
}
check_spawn() { # status command...
    local wanted=$1
    shift
    check_equal "$wanted" "$(spawn "$@")" "exit status of $* ($(head -c 300 "$dir/err"))"
}
check_one_line() { # pattern
    check_equal 1 "$(wc -l <"$dir/err")" "lines on standard error ($(head -c 300 "$dir/err"))"
    check_match "$1" "$(cat "$dir/err")"
}
check_hello() {
    REQUEST_METHOD=GET SCRIPT_NAME=/hello timeout 10 cgi-fcgi -bind -connect "$sock" >"$dir/answer" 2>&1 || true
    check_match 'Hello, World' "$(cat "$dir/answer")"
}
master_pid() {
    cat "$state"/*.pid | head -n 1
}
check_nothing_left() {
    wait_until no_process_of "$state"
    check_equal '' "$(find "$state" -type s -o -name '*.pid')" 'left behind'
}

case_start_status_stop() {
    state usual
    check_spawn 0 start
    check_hello
    check_equal 660 "$(stat -c %a "$sock")" 'mode of the socket'
    check_spawn 0 status
    check_match "$(master_pid)" "$(cat "$dir/out")"
    check_spawn 0 stop
    check_nothing_left
    if [ "$(spawn status)" = 0 ]; then fail 'status says that it runs'; fi
}

case_stop_of_nothing_is_no_fault() {
    state nothing
    check_spawn 0 stop
}

case_restart_is_another_process() {
    local before

    state usual
    check_spawn 0 start
    before=$(master_pid)
    check_spawn 0 restart
    check_hello
    if [ "$before" = "$(master_pid)" ]; then fail "still process $before"; fi
    is_gone "$before" || fail "process $before is still there"
    check_spawn 0 stop
    check_spawn 0 restart # of nothing: a start
    check_hello
    check_spawn 0 stop
    check_nothing_left
}

case_a_second_start_is_refused() {
    local before inode

    state usual
    check_spawn 0 start
    before=$(master_pid)
    inode=$(stat -c %i "$sock")
    check_spawn 1 start
    check_one_line .
    check_equal "$before" "$(master_pid)" 'pid'
    check_equal "$inode" "$(stat -c %i "$sock")" 'inode'
    check_hello
    check_spawn 0 stop
    check_nothing_left
}

case_reload_is_not_yet() {
    state usual
    check_spawn 2 reload
    check_one_line 'not yet'
}

case_bad_usage() {
    state usual
    check_spawn 2
    check_spawn 2 sideways
    check_spawn 2 start surplus
    check_equal '' "$(cat "$dir/out")" 'standard output'
}

case_a_stale_socket_is_replaced() {
    local pid

    state stale
    check_spawn 0 start
    pid=$(master_pid)
    kill -KILL "$pid"
    wait_until no_process_of "$state"
    [ -S "$sock" ] || fail 'the socket has gone with the process'
    check_spawn 0 start
    check_hello
    check_spawn 0 stop
    check_nothing_left
}

case_files_and_directories_are_refused() {
    local kind

    for kind in file directory link; do
        state "in-the-way-$kind"
        case $kind in
        file) echo precious >"$sock" ;;
        directory) mkdir "$sock" ;;
        link) echo precious >"$dir/target" && ln -s "$dir/target" "$sock" ;;
        esac
        check_spawn 1 start
        check_one_line 'millrace\.sock'
        [ -e "$sock" ] || fail "the $kind was removed"
        wait_until no_process_of "$state"
        check_equal '' "$(find "$state" -name '*.pid')" 'pid files'
    done
    check_equal precious "$(cat "$dir/in-the-way-file/millrace.sock")"
    check_equal precious "$(cat "$dir/target")"
}

case_somebody_elses_live_socket_is_refused() {
    local conf

    state live
    conf=$(runtime_conf other <<END
fastcgi = { "unix:$sock" }
pid_file = "@DIR@/pid"
workers = 1
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    runtime_start "$conf"
    check_spawn 1 start
    check_one_line 'millrace\.sock'
    check_hello
    runtime_stop
}

case_a_bad_configuration_leaves_nothing() {
    state bad
    echo 'workerz = 3' >>"$state/millrace.conf"
    check_spawn 1 start
    check_match 'millrace\.conf:6: .*workerz' "$(cat "$dir/err")"
    check_nothing_left
    rm "$state/millrace.conf"
    check_spawn 1 start
    check_one_line 'millrace\.conf'
    check_nothing_left
}

# Stop waits for requests that run.
case_stop_lets_requests_finish() {
    local client

    state drain
    echo "app \"/sleeper\" { file = \"$BUILD/tests/apps/sleeper.so\" }" >>"$state/millrace.conf"
    check_spawn 0 start
    REQUEST_METHOD=GET SCRIPT_NAME=/sleeper QUERY_STRING=700 timeout 20 cgi-fcgi -bind -connect "$sock" >"$dir/slept" 2>&1 &
    client=$!
    wait_until busy "$sock"
    check_spawn 0 stop
    wait "$client"
    check_match 'slept' "$(cat "$dir/slept")"
    check_nothing_left
}
busy() { # socket: somebody is connected to it
    [ "$(ss -Hxn state established src "unix:$1" | wc -l)" -gt 0 ]
}

cases_run "$@"
