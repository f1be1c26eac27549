#!/bin/bash
# Bad command lines, configurations, applications and sockets: each must give one clear line on standard error and the
# documented exit status, and leave nothing behind. Cases C32, C37.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

# Runs the runtime on a configuration that it must refuse. Sets: said (its line).
refused() { # status pattern configuration [option...]
    local wanted=$1 pattern=$2 conf=$3 place status=0 socket
    shift 3
    place=$(dirname "$conf")
    timeout -k 2 15 "$BUILD/millrace" -c "$conf" "$@" </dev/null >"$place/out" 2>"$place/err" || status=$?
    said=$(cat "$place/err")
    check_equal "$wanted" "$status" "exit status (it said: ${said:0:300})"
    check_equal 1 "$(wc -l <"$place/err")" "lines on standard error (${said:0:300})"
    check_match "$pattern" "$said"
    check_equal '' "$(cat "$place/out")" 'standard output'
    check_gone "$place/pid"
    for socket in "$place"/*.sock; do check_gone "$socket"; done
    check_no_process "$place"
}

check_no_process() { # directory
    check_equal '' "$(processes_of "$1")" 'processes left'
}

# A configuration whose first two lines are right; the rest is the test's.
conf() { # name
    {
        echo 'fastcgi = { "unix:@DIR@/m.sock" }'
        echo 'pid_file = "@DIR@/pid"'
        cat
    } | runtime_conf "$1"
}

case_unknown_command_line_option() {
    local status=0 word

    for word in --nonsense -x -c; do
        status=0
        "$BUILD/millrace" "$word" </dev/null >"$dir/out" 2>"$dir/err" || status=$?
        check_equal 2 "$status" "exit status for $word"
        check_equal '' "$(cat "$dir/out")" "standard output for $word"
        check_match 'millrace' "$(head -n 1 "$dir/err")"
    done
    check_equal 1 "$(wc -l <"$dir/err")" 'lines on standard error'
}

case_surplus_argument() {
    local status=0

    "$BUILD/millrace" surplus </dev/null >/dev/null 2>"$dir/err" || status=$?
    check_equal 2 "$status" 'exit status'
    check_match 'surplus' "$(cat "$dir/err")"
}

case_help_and_version() {
    check_match '-c' "$("$BUILD/millrace" -h 2>&1)"
    check_match '[0-9]+\.[0-9]+' "$("$BUILD/millrace" -V 2>&1)"
}

case_missing_configuration_file() {
    local status=0

    "$BUILD/millrace" -c "$dir/no/such.conf" </dev/null >/dev/null 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status'
    check_equal 1 "$(wc -l <"$dir/err")" 'lines on standard error'
    check_match 'such\.conf.*No such file' "$(cat "$dir/err")"
}

case_a_directory_as_configuration() {
    local status=0

    "$BUILD/millrace" -c "$dir" </dev/null >/dev/null 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status'
    check_equal 1 "$(wc -l <"$dir/err")" 'lines on standard error'
}

# A reload must not wait for somebody to write into it, nor find it used up.
case_a_fifo_as_configuration() {
    local status=0

    mkfifo "$dir/fifo"
    timeout 5 "$BUILD/millrace" -n -c "$dir/fifo" </dev/null >/dev/null 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status'
    check_match 'no regular file' "$(cat "$dir/err")"
}

case_one_address_twice() {
    local path

    path=$(runtime_conf twice <<<'fastcgi = { "unix:@DIR@/a.sock", "unix:@DIR@/a.sock" } app "/hello" { file = "@APPS@/hello.so" }')
    refused 1 'a\.sock twice' "$path"
}

case_good_configuration_passes_the_check() {
    local path

    path=$(conf good <<<'app "/hello" { file = "@APPS@/hello.so" }')
    "$BUILD/millrace" -n -c "$path" >"$dir/out" 2>&1 || fail "refused: $(cat "$dir/out")"
    check_gone "$dir/good/m.sock" "$dir/good/pid"
}

case_unknown_key() {
    local path

    path=$(conf unknown-key <<<$'workers = 2\nworkerz = 3\napp "/hello" { file = "@APPS@/hello.so" }')
    refused 1 'millrace\.conf:4: .*workerz' "$path"
    refused 1 'millrace\.conf:4: .*workerz' "$path" -n
}

case_unknown_key_in_an_app() {
    local path

    path=$(conf unknown-app-key <<<$'app "/hello" {\n    file = "@APPS@/hello.so"\n    colour = "red"\n}')
    refused 1 'millrace\.conf:5: .*colour' "$path"
}

case_missing_closing_brace() {
    local path

    path=$(conf brace <<<$'app "/hello" {\n    file = "@APPS@/hello.so"')
    refused 1 'millrace\.conf:[34]: .*(brace|closed|\})' "$path"
    refused 1 'millrace\.conf:[34]: .*(brace|closed|\})' "$path" -n
    path=$(conf brace-within <<<$'app "/a" {\n file = "@APPS@/hello.so"\napp "/b" { file = "@APPS@/hello.so" }')
    refused 1 'millrace\.conf:[0-9]+: ' "$path"
}

case_bad_values() {
    local line path number=0

    while read -r line; do
        number=$((number + 1))
        path=$(conf "value-$number" <<<"$line"$'\napp "/hello" { file = "@APPS@/hello.so" }')
        refused 1 "millrace\\.conf:3: .*${line%% *}" "$path"
    done <<'END'
workers = 0
workers = -1
workers = many
workers = 100000
lanes = 1000
lanes = some
threads = 0
threads = 2000000
backlog = 0
max_body = -1
max_body = 5X
max_body = 1.5M
max_body = 99999999999999999999
max_params_bytes = 0
head_timeout = 0
head_timeout = -5
queue_limit = -1
socket_mode = "rw"
socket_mode = "9999"
user = "no-such-user-here"
socket_group = "no-such-group-here"
END
}

case_threads_must_exceed_lanes() {
    local path

    path=$(conf few-threads <<<$'lanes = 4\nthreads = 4\napp "/hello" { file = "@APPS@/hello.so" }')
    refused 1 'threads' "$path"
}

case_bad_addresses() {
    local address path number=0

    for address in '127.0.0.1:99999' '127.0.0.1:0' '127.0.0.1:port' '127.0.0.1' 'unix:' 'unix:relative.sock' '[::1]' \
        '[::1:9000' 'nowhere' '1.2.3:9000' ''; do
        number=$((number + 1))
        path=$(runtime_conf "address-$number" <<END
pid_file = "@DIR@/pid"
fastcgi = { "$address" }
app "/hello" { file = "@APPS@/hello.so" }
END
        )
        refused 1 "millrace\\.conf:2: " "$path"
    done
}

case_no_app() {
    local path

    path=$(conf no-app <<<'workers = 1')
    refused 1 'app' "$path"
}

case_no_file_in_an_app() {
    local path

    path=$(conf no-file <<<$'app "/hello" {\n}')
    refused 1 'millrace\.conf:[34]: .*file' "$path"
}

case_route_that_is_no_path() {
    local route path number=0

    for route in hello '' '/hello/' '//hello' '/a b' '/a?b'; do
        number=$((number + 1))
        path=$(conf "route-$number" <<<"app \"$route\" { file = \"@APPS@/hello.so\" }")
        refused 1 'millrace\.conf:3: ' "$path"
    done
}

case_two_apps_on_one_route() {
    local path

    path=$(conf twice <<<$'app "/hello" { file = "@APPS@/hello.so" }\napp "/hello" { file = "@APPS@/hello.so" }')
    refused 1 'millrace\.conf:4: .*/hello' "$path"
    refused 1 'millrace\.conf:4: .*/hello' "$path" -n
}

case_missing_so() {
    local path

    path=$(conf missing-so <<<$'workers = 1\napp "/hello" { file = "@DIR@/nowhere.so" }')
    refused 1 'millrace\.conf:4: .*nowhere\.so' "$path"
    refused 1 'millrace\.conf:4: .*nowhere\.so' "$path" -n
}

case_so_that_is_none() {
    local path

    path=$(conf no-so <<<'app "/hello" { file = "@DIR@/text.so" }')
    echo 'just text' >"$dir/no-so/text.so"
    refused 1 'millrace\.conf:3: .*text\.so' "$path"
}

case_so_without_the_symbol() {
    local path

    path=$(conf no-symbol <<<'app "/x" { file = "@TESTAPPS@/nosymbol.so" }')
    refused 1 'millrace\.conf:3: .*nosymbol\.so.*mr_app' "$path"
    refused 1 'millrace\.conf:3: .*nosymbol\.so.*mr_app' "$path" -n
}

case_so_with_another_abi() {
    local path

    path=$(conf abi <<<'app "/x" { file = "@TESTAPPS@/badabi.so" }')
    refused 1 'millrace\.conf:3: .*badabi\.so.*ABI' "$path"
    refused 1 'millrace\.conf:3: .*badabi\.so.*ABI' "$path" -n
}

case_app_whose_start_fails() {
    local path status=0

    path=$(conf badstart <<<'app "/x" { file = "@TESTAPPS@/badstart.so" }')
    timeout -k 2 15 "$BUILD/millrace" -c "$path" </dev/null >"$dir/out" 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status'
    check_match '/x' "$(cat "$dir/err")"
    check_gone "$dir/badstart/pid" "$dir/badstart/m.sock"
    check_no_process "$dir/badstart"
}

case_every_fault_has_its_line() {
    local path status=0

    path=$(conf many <<'END'
app "/a" { file = "@DIR@/a.so" }
app "/b" { file = "@DIR@/b.so" }
app "/c" { file = "@TESTAPPS@/badabi.so" }
END
    )
    "$BUILD/millrace" -n -c "$path" </dev/null >/dev/null 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status'
    check_equal 3 "$(wc -l <"$dir/err")" 'lines on standard error'
    check_equal 3 "$(grep -c 'millrace\.conf:[345]: ' "$dir/err")" 'lines with a place'
}

case_faults_are_on_stderr_also_with_a_log() {
    local path

    path=$(conf with-log <<<$'log = "@DIR@/log"\napp "/hello" { file = "@DIR@/nowhere.so" }')
    refused 1 'nowhere\.so' "$path"
}

# -- Sockets that cannot be bound ------------------------------------------------------------------------------------

case_port_in_use() {
    local path port

    port=$(free_port)
    path=$(runtime_conf holder <<END
fastcgi = { "127.0.0.1:$port" }
pid_file = "@DIR@/pid"
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    runtime_start "$path"
    path=$(runtime_conf port <<END
fastcgi = { "127.0.0.1:$port", "unix:@DIR@/m.sock" }
pid_file = "@DIR@/pid"
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    refused 1 "127\\.0\\.0\\.1:$port.*in use" "$path"
    kill -0 "$runtime_pid" || fail 'the holder of the port has gone'
    runtime_stop
    check_equal 0 "$runtime_status" 'the holder ended with'
}

case_socket_path_too_long() {
    local path long

    long=$(printf 'x%.0s' {1..120})
    path=$(runtime_conf long <<END
pid_file = "@DIR@/pid"
fastcgi = { "unix:@DIR@/$long.sock" }
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    refused 1 '(millrace\.conf:2: )?.*long' "$path"
    refused 1 '(millrace\.conf:2: )?.*long' "$path" -n
}

case_socket_in_a_missing_directory() {
    local path

    path=$(runtime_conf missing-directory <<END
pid_file = "@DIR@/pid"
fastcgi = { "unix:@DIR@/no/such/m.sock" }
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    refused 1 'no/such' "$path"
}

case_pid_file_in_a_missing_directory() {
    local path

    path=$(runtime_conf missing-pid <<END
fastcgi = { "unix:@DIR@/m.sock" }
pid_file = "@DIR@/no/such/pid"
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    refused 1 'no/such' "$path"
}

case_log_in_a_missing_directory() {
    local path

    path=$(conf missing-log <<<$'log = "@DIR@/no/such/log"\napp "/hello" { file = "@APPS@/hello.so" }')
    refused 1 'no/such' "$path"
}

cases_run "$@"
