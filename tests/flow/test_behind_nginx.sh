#!/bin/bash
# Handlers that misbehave, seen by nginx's clients: which status they get, and what happens to the requests after them.
# nginx has the smallest configuration that keeps connections; the shipped ones are test_stack.sh's. Cases C08, C42, C59.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

nginx_conf() { # socket
    [ "$(id -u)" != 0 ] || echo 'user www-data;'
    cat <<END
worker_processes 1;
daemon off;
pid $dir/nginx.pid;
error_log $dir/nginx-error.log;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path $dir/body;
    fastcgi_temp_path $dir/fastcgi;
    proxy_temp_path $dir/proxy;
    uwsgi_temp_path $dir/uwsgi;
    scgi_temp_path $dir/scgi;
    upstream millrace { server unix:$1; keepalive 8; }
    server {
        listen 127.0.0.1:$MILLRACE_PORT;
        location / {
            include /etc/nginx/fastcgi_params;
            fastcgi_pass millrace;
            fastcgi_keep_conn on;
        }
        location /unbuffered/ {
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_NAME /bigout;
            fastcgi_pass millrace;
            fastcgi_keep_conn on;
            fastcgi_buffering off;
        }
    }
}
END
}

start_both() {
    local route

    MILLRACE_PORT=$(free_port)
    runtime=$dir/runtime
    runtime_start "$({
        printf 'fastcgi = { "unix:@DIR@/m.sock" }\nsocket_mode = "0666"\npid_file = "@DIR@/pid"\n'
        printf 'workers = 2\nlanes = 1\nthreads = 8\n'
        echo 'app "/hello" { file = "@APPS@/hello.so" }'
        for route in crash exit nothing bad_header status bigout errout readpart; do
            echo "app \"/$route\" { file = \"@TESTAPPS@/$route.so\" }"
        done
    } | runtime_conf runtime)"
    nginx_conf "$runtime/m.sock" >"$dir/nginx.conf"
    nginx -e "$dir/nginx-error.log" -c "$dir/nginx.conf" >"$dir/nginx.out" 2>&1 &
    at_end "kill -TERM $!; tail --pid=$! -f /dev/null"
    wait_until says_hello
}
says_hello() {
    [ "$(fetch_status /hello)" = 200 ]
}
workers() {
    pgrep -P "$runtime_pid" | sort -n | tr '\n' ' '
}

# Makes nginx keep several connections, to both workers.
warm_up() {
    local number pids=()

    for ((number = 0; number < 16; number++)); do
        fetch /hello -o /dev/null &
        pids+=($!)
    done
    wait "${pids[@]}"
}
workers_changed() { # the list before
    [ "$(workers)" != "$1" ] && [ "$(workers | wc -w)" = 2 ]
}

check_one_request_is_lost() { # path
    local before

    warm_up
    before=$(workers)
    check_equal 502 "$(fetch_status "$1" -X POST -d x)" "status of $1"
    for _ in {1..50}; do check_equal 200 "$(fetch_status /hello)" "a request after $1"; done
    wait_until workers_changed "$before"
    check_equal 1 "$(comm -12 <(tr ' ' '\n' <<<"$before" | grep . | sort) <(workers | tr ' ' '\n' | grep . | sort) |
        wc -l)" 'workers that stayed'
}

case_a_crash_is_a_502_for_its_request_alone() {
    check_one_request_is_lost /crash
    check_one_request_is_lost '/crash?6'
}

case_exit_is_a_502_for_its_request_alone() {
    check_one_request_is_lost '/exit?0'
    check_one_request_is_lost '/exit?3'
}

case_nothing_written_is_a_500() {
    check_equal 500 "$(fetch_status /nothing)"
    check_equal 500 "$(fetch_status '/nothing?7')"
    check_equal 200 "$(fetch_status /hello)"
}

case_bad_headers_are_a_500() {
    local kind head

    for kind in bare-cr nul no-blank-line no-header no-colon empty-name space-in-name status-text status-99 call-crlf; do
        head=$(curl -sS -o /dev/null -D - --max-time 10 "http://127.0.0.1:$MILLRACE_PORT/bad_header?$kind")
        check_match '^HTTP/1\.1 500 ' "$head" "$kind"
        if grep -qi '^X-Two' <<<"$head"; then fail "$kind: a second header line"; fi
    done
    check_equal 'plain' "$(fetch '/bad_header?call-good' -o /dev/null -D - | tr -d '\r' | sed -n 's/^X-Value: //p')"
}

# A length that lies must not shift the answers of a kept connection.
case_a_wrong_content_length_harms_no_other_answer() {
    local kind

    for kind in length-short length-long; do
        for _ in {1..5}; do
            fetch_status "/bad_header?$kind" --max-time 5 >/dev/null
            check_equal 450 "$(fetch /hello | wc -c)" "after $kind"
        done
    done
}

case_every_status_arrives() {
    local status

    for status in 200 201 204 302 304 400 404 418 503; do
        check_equal "$status" "$(fetch_status "/status?$status")"
    done
}

case_the_error_stream_is_in_the_error_log() {
    check_equal 'clean body' "$(fetch '/errout?300')"
    wait_until grep -q 'FastCGI sent in stderr: "eeee' "$dir/nginx-error.log"
    check_equal 'clean body' "$(fetch '/errout?200000')"
}

case_head_of_a_large_answer() {
    local before

    before=$(workers)
    for _ in {1..50}; do check_equal 200 "$(fetch_status '/unbuffered/?2000000' -I)"; done
    check_equal 200 "$(fetch_status /hello)"
    check_equal "$before" "$(workers)" 'workers'
}

case_clients_that_leave() {
    local before

    before=$(workers)
    for _ in {1..20}; do
        timeout 0.05 curl -s --limit-rate 1000 -o /dev/null "http://127.0.0.1:$MILLRACE_PORT/unbuffered/?5000000" || true
    done
    check_equal 200 "$(fetch_status /hello)"
    check_equal "$before" "$(workers)" 'workers'
}

case_unread_bodies_harm_nobody() {
    head -c 500000 /dev/zero >"$dir/upload"
    for _ in {1..20}; do
        check_equal '10 more' "$(fetch '/readpart?10' --data-binary "@$dir/upload")" \
            "($(tail -n 1 "$dir/nginx-error.log" | cut -c1-300); $(grep -v ' info ' "$runtime/output" | tail -n 1))"
        check_equal 450 "$(fetch /hello | wc -c)"
    done
}

# nginx logs whatever it finds odd about an answer or the end of a connection.
case_no_complaint_in_many_requests() {
    local lines

    lines=$(wc -l <"$dir/nginx-error.log")
    ab -q -k -n 5000 -c 10 "http://127.0.0.1:$MILLRACE_PORT/hello" >"$dir/ab" 2>&1
    check_equal 0 "$(awk '/^Failed requests:/ { print $3 }' "$dir/ab")" 'failed'
    if grep -q '^Non-2xx' "$dir/ab"; then fail "$(grep '^Non-2xx' "$dir/ab")"; fi
    check_equal "$lines" "$(wc -l <"$dir/nginx-error.log")" \
        "lines in nginx's error log ($(tail -n 1 "$dir/nginx-error.log" | cut -c1-200))"
}

start_both
cases_run "$@"
