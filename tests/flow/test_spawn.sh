#!/bin/bash
# The spawn script: start, stop, restart, reload, upgrade, status; what lies at the socket's path; crashes. Cases C31, C32, C36.
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
    check_equal '' "$(find "$state" -type s -o -name '*.pid' -o -name '*.reload')" 'left behind'
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

case_reload_starts_another_generation() {
    local master before

    state usual
    check_spawn 0 start
    master=$(master_pid)
    before=$(workers_of "$master")
    check_spawn 0 reload
    check_equal 'generation 2 serves' "$(cat "$dir/out")"
    check_equal "$master" "$(master_pid)" 'pid'
    check_hello
    wait_until has_left "$before"
    check_spawn 0 reload
    check_equal 'generation 3 serves' "$(cat "$dir/out")"
    check_spawn 0 stop
    check_nothing_left
}
workers_of() { # pid
    tr ' ' '\n' <"/proc/$1/task/$1/children"
}
has_left() { # pids
    local pid

    for pid in $1; do
        is_gone "$pid" || return 1
    done
}

# All faults are told, and the old generation stays until they are mended.
case_reload_that_fails() {
    state faulty
    check_spawn 0 start
    cp "$state/millrace.conf" "$dir/good.conf"
    printf 'app "/absent" { file = "%s/absent.so" }\napp "/none" { file = "%s/none.so" }\n' "$state" "$state" >>"$state/millrace.conf"
    check_spawn 1 reload
    check_equal '' "$(cat "$dir/out")" 'standard output'
    check_match 'reload failed: .*millrace\.conf:6: .*; the old generation serves on' "$(tail -n 1 "$dir/err")"
    check_match 'absent\.so' "$(cat "$dir/err")"
    check_match 'none\.so' "$(cat "$dir/err")"
    check_hello
    check_spawn 0 status
    cp "$dir/good.conf" "$state/millrace.conf"
    check_spawn 0 reload
    check_hello
    check_spawn 0 stop
    check_nothing_left
}

case_upgrade_is_another_process() {
    local before

    state usual
    check_spawn 0 start
    before=$(master_pid)
    check_spawn 0 upgrade
    check_equal 'generation 2 serves' "$(cat "$dir/out")"
    if [ "$before" = "$(master_pid)" ]; then fail "still process $before"; fi
    check_hello
    wait_until is_gone "$before"
    check_spawn 0 status
    check_match "$(master_pid)" "$(cat "$dir/out")"
    check_spawn 1 start # it runs
    check_spawn 0 reload
    check_equal 'generation 3 serves' "$(cat "$dir/out")"
    check_hello
    check_spawn 0 stop
    check_nothing_left
}

# A program that cannot run: what serves goes on.
case_upgrade_that_fails() {
    local before

    state downgrade
    cp "$BUILD/millrace" "$state/millrace"
    check_spawn 0 start -b "$state/millrace"
    before=$(master_pid)
    printf '#!/bin/sh\nexit 7\n' >"$state/broken"
    chmod 755 "$state/broken"
    mv "$state/broken" "$state/millrace"
    check_spawn 1 upgrade
    check_match '^spawn: upgrade failed: .*; the old generation serves on$' "$(tail -n 1 "$dir/err")"
    check_equal "$before" "$(master_pid)" 'pid'
    check_hello
    check_spawn 0 stop
    check_nothing_left
}

case_reload_and_upgrade_of_nothing() {
    state nothing
    check_spawn 3 reload
    check_spawn 3 upgrade
    check_equal 'the server does not run' "$(cat "$dir/out")"
}

# A process that is there but no server of ours gets no signal: its number was used again.
case_a_number_used_again() {
    local other

    state again
    sleep 60 &
    other=$!
    at_end "kill $other"
    echo "$other" >"$state/millrace.pid"
    check_spawn 3 status
    check_spawn 3 reload
    check_spawn 0 stop
    if is_gone "$other"; then fail 'somebody else was stopped'; fi
    kill "$other"
}

# What another user can know, and what that user must not do.
case_another_user() {
    [ "$(id -u)" = 0 ] || skip 'needs root to become another user'
    state others
    check_spawn 0 start
    as_nobody() { # command: as spawn
        local status=0

        MILLRACE_STATE=$state setpriv --reuid=nobody --regid=nogroup --clear-groups timeout -k 2 60 "$root/runtime/spawn" "$@" \
            </dev/null >"$dir/out" 2>"$dir/err" || status=$?
        echo "$status"
    }
    setpriv --reuid=nobody --regid=nogroup --clear-groups test -r "$root/runtime/spawn" || skip "nobody cannot reach $root"
    check_equal 4 "$(as_nobody status)" 'exit status of status'
    check_match "process $(master_pid), a millrace of user root" "$(cat "$dir/out")"
    check_equal 1 "$(as_nobody stop)" 'exit status of stop'
    check_one_line 'user or root'
    check_equal 1 "$(as_nobody reload)" 'exit status of reload'
    check_one_line 'user or root'
    check_hello
    check_spawn 0 stop
    check_equal 3 "$(as_nobody status)" 'exit status of status when it does not run'
    check_nothing_left
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
