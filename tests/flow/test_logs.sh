#!/bin/bash
# The logs: the access log and its fields, what handlers write to their err stream, logs that are opened again, the journal, a
# full disk; and listeners and logs that a reload changes.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

# Starts a server in $dir/NAME, standard input holds more of its configuration. Sets: place, runtime_pid.
start() { # name [command-prefix...]
    local name=$1
    shift
    place=$dir/$name
    conf=$(configure "$name")
    runtime_start "$conf" "$@"
}
configure() { # name
    {
        echo 'pid_file = "@DIR@/pid"'
        cat
        for app in hello echo; do echo "app \"/$app\" { file = \"@APPS@/$app.so\" }"; done
        for app in errout talker sleeper crash; do echo "app \"/$app\" { file = \"@TESTAPPS@/$app.so\" }"; done
    } | runtime_conf "$1"
}

ask() { # path [query [body [socket]]]
    local body=${3:-}
    printf '%s' "$body" | SCRIPT_NAME=$1 REQUEST_URI="$1${2:+?$2}" QUERY_STRING=${2:-} CONTENT_LENGTH=${#body} \
        REQUEST_METHOD=$([ -n "$body" ] && echo POST || echo GET) REMOTE_ADDR=192.0.2.7 \
        timeout 20 cgi-fcgi -bind -connect "${4:-$place/m.sock}"
}

lines() { # file pattern: how many lines match
    grep -cE -- "$2" "$1" || true
}
has_line() { # file pattern
    grep -qE -- "$2" "$1"
}

# Sends a signal and waits for what comes of it.
outcome() { # signal
    rm -f "$place/pid.reload"
    kill "-$1" "$runtime_pid"
    wait_until test -s "$place/pid.reload"
    cat "$place/pid.reload"
}

# -- Access log ---------------------------------------------------------------------------------------------------------

case_access_log() {
    start access <<<'fastcgi = { "unix:@DIR@/m.sock" } log = "@DIR@/log" access_log = "@DIR@/access"'
    ask /hello 'a=b' >/dev/null
    ask /echo '' 'twelve bytes' >/dev/null
    ask /nowhere >/dev/null
    ask /sleeper 120 >/dev/null
    ask /hello "$(printf 'x y"z\\\n\x01')" >/dev/null
    wait_until has_line "$place/access" 'x\\x20y'
    check_equal 5 "$(wc -l <"$place/access")" 'lines'
    local time='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z [0-9]+ [0-9]+ 192\.0\.2\.7'
    check_equal 1 "$(lines "$place/access" "^$time GET /hello\\?a=b 200 450 /hello [0-9]+\\.[0-9]{3} [0-9]+\\.[0-9]{3}\$")" /hello
    check_equal 1 "$(lines "$place/access" "^$time POST /echo 200 12 /echo [0-9.]+ [0-9.]+\$")" /echo
    check_equal 1 "$(lines "$place/access" "^$time GET /nowhere 404 [0-9]+ - - -\$")" /nowhere
    check_equal 1 "$(lines "$place/access" "^$time GET /sleeper\\?120 200 10 /sleeper [0-9.]+ 12[0-9]\\.[0-9]{3}\$")" /sleeper
    check_equal 1 "$(lines "$place/access" 'GET /hello\?x\\x20y\\x22z\\x5c\\x0a\\x01 200 ')" 'escapes'
    runtime_stop
    check_equal 0 "$runtime_status"
}

case_no_access_log_unless_asked() {
    start quiet <<<'fastcgi = { "unix:@DIR@/m.sock" } log = "@DIR@/log"'
    ask /hello >/dev/null
    check_equal 0 "$(lines "$place/log" '/hello 20')"
    runtime_stop
}

# -- The log ------------------------------------------------------------------------------------------------------------

case_err_stream_goes_to_the_log() {
    start stream <<<'fastcgi = { "unix:@DIR@/m.sock" } log = "@DIR@/log"'
    ask /errout 7 >"$place/out" 2>"$place/err"
    check_match 'eeeeeee' "$(cat "$place/err")" 'for the front end'
    wait_until has_line "$place/log" ' warn  [0-9]+/[0-9]+ [1-9][0-9]* /errout: e+$'
    runtime_stop
}

case_logs_are_opened_again() {
    local pids
    start again <<<'fastcgi = { "unix:@DIR@/m.sock" } log = "@DIR@/log" access_log = "@DIR@/access" workers = 2'
    ask /talker >/dev/null
    wait_until has_line "$place/access" /talker
    mv "$place/log" "$place/log.1"
    mv "$place/access" "$place/access.1"
    kill -USR1 "$runtime_pid"
    wait_until test -e "$place/access"
    sleep 1.2 # a line that repeats the one before within a second is only counted
    for _ in {1..12}; do ask /talker >/dev/null; done
    wait_until has_line "$place/access" /talker
    check_equal 12 "$(lines "$place/access" ' /talker ')" 'lines in the new access log'
    check_equal 1 "$(lines "$place/access.1" ' /talker ')" 'lines in the old one'
    check_match 'talker says this to the log' "$(cat "$place/log")"
    check_equal 1 "$(lines "$place/log.1" 'talker says this on stderr')" 'old lines'
    pids=$(sed -nE 's/.* ([0-9]+)\/[0-9]+ [0-9]+ \/talker: .*/\1/p' "$place/log" | sort -u)
    [ -n "$pids" ] || fail 'no line of a worker'
    runtime_stop
    has_line "$place/log" 'master: stopped' || fail "the master's last line is elsewhere"
}

case_the_journal() {
    local file=$dir/journal.out
    : >"$file"
    conf=$(configure journal <<<'fastcgi = { "unix:@DIR@/m.sock" }')
    place=$dir/journal
    JOURNAL_STREAM=$(stat -c %d:%i "$file") "$BUILD/millrace" -c "$conf" </dev/null >>"$file" 2>&1 &
    runtime_pid=$!
    at_end "runtime_kill $runtime_pid '$place'"
    wait_until test -s "$place/pid"
    ask /errout 3 >/dev/null 2>&1
    ask /crash 11 >/dev/null 2>&1 || true
    wait_until has_line "$file" '^<3>.*was ended by signal 11'
    check_match '^<6>0 0 master: millrace' "$(head -n 1 "$file")"
    check_equal 1 "$(lines "$file" '^<4>[0-9]+ [0-9]+ /errout: e+$')" 'a warning'
    check_equal 0 "$(lines "$file" '^[0-9]{4}-')" 'lines with a time'
    runtime_stop
}

# Neither a log nor an access log that cannot be written stops the server.
case_a_full_disk() {
    start full <<<'fastcgi = { "unix:@DIR@/m.sock" } log = "/dev/full" access_log = "/dev/full"'
    for _ in {1..20}; do ask /talker >/dev/null; done
    check_match '<html' "$(ask /hello)"
    check_match '^ok ' "$(outcome HUP)"
    check_match '<html' "$(ask /hello)"
    runtime_stop
    check_equal 0 "$runtime_status"
}

# -- What a reload changes ----------------------------------------------------------------------------------------------

case_a_reload_changes_listeners_and_logs() {
    start change <<<'fastcgi = { "unix:@DIR@/m.sock", "unix:@DIR@/old.sock" } log = "@DIR@/log"'
    configure change >/dev/null <<<'fastcgi = { "unix:@DIR@/new.sock", "unix:@DIR@/m.sock" } log = "@DIR@/log2" access_log = "@DIR@/access"'
    inode=$(stat -c %i "$place/m.sock")
    check_match '^ok 2' "$(outcome HUP)"
    check_match '<html' "$(ask /hello '' '' "$place/new.sock")"
    check_match '<html' "$(ask /hello)"
    check_equal "$inode" "$(stat -c %i "$place/m.sock")" 'a socket that stays is the same'
    check_gone "$place/old.sock"
    wait_until has_line "$place/access" ' /hello '
    check_match 'reload: generation 2 serves' "$(cat "$place/log2")"
    configure change >/dev/null <<<'fastcgi = { "unix:@DIR@/missing/x.sock" } log = "@DIR@/log2"'
    check_match '^failed .*missing/x.sock' "$(outcome HUP)"
    check_match '<html' "$(ask /hello '' '' "$place/new.sock")"
    runtime_stop
    check_gone "$place/new.sock" "$place/m.sock"
}

case_root_opens_nothing_where_workers_can_write() {
    [ "$(id -u)" = 0 ] || skip 'only root has rights to lose'
    mkdir -p "$dir/theirs" "$dir/everybodys"
    chown www-data "$dir/theirs"
    chmod 777 "$dir/everybodys"
    for folder in theirs everybodys; do
        for option in log access_log pid_file; do
            path=$(runtime_conf "root-$folder-$option" <<<"fastcgi = { \"unix:@DIR@/m.sock\" } $option = \"$dir/$folder/file\" app \"/hello\" { file = \"@APPS@/hello.so\" }")
            status=0
            said=$("$BUILD/millrace" -n -c "$path" 2>&1 </dev/null) || status=$?
            check_equal 1 "$status" "$option in $folder"
            check_match "$option .*$folder.*root alone can write" "$said"
            check_gone "$dir/$folder/file"
        done
    done
}

cases_run "$@"
