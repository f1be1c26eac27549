#!/bin/bash
# The direct listener under tools that others have written: ab, httperf, curl, slowhttptest. Cases C46, C47, C48, C50, C57.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/load.sh
source "$root/tests/flow/load.sh"

# HTTP alone: no other listener. load.sh calls the port MILLRACE_PORT.
start() { # name [more lines]
    MILLRACE_PORT=$(free_port)
    direct=http://127.0.0.1:$MILLRACE_PORT
    runtime_start "$(runtime_conf "$1" <<END
http = { "127.0.0.1:$MILLRACE_PORT" }
pid_file = "@DIR@/pid"
log = "@DIR@/log"
workers = 1
lanes = 1
threads = 8
queue_ms = 1000
${2:-}
app "/hello" { file = "@APPS@/hello.so" }
app "/bighello" { file = "@APPS@/bighello.so" }
app "/page8k" { file = "@APPS@/page8k.so" }
app "/gif" { file = "@APPS@/gif.so" }
app "/env" { file = "@APPS@/env.so" }
app "/echo" { file = "@APPS@/echo.so" }
app "/bigout" { file = "@TESTAPPS@/bigout.so" }
END
)"
    worker=$(pgrep -P "$runtime_pid")
    descriptors=$(count_descriptors)
}
count_descriptors() {
    find "/proc/$worker/fd" -mindepth 1 2>/dev/null | wc -l
}
has_its_descriptors() {
    [ "$(count_descriptors)" = "$descriptors" ]
}
# Same worker, nothing open that was not open at the start, a good end.
check_end() {
    wait_until has_its_descriptors
    check_equal "$worker" "$(pgrep -P "$runtime_pid")" 'the worker'
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
}
resident_kb() {
    awk '/^VmRSS:/ { print $2 }' "/proc/$worker/status"
}

# -- Load --------------------------------------------------------------------------------------------------------------

case_ab_keeps_its_connections() {
    local route

    start kept
    for route in /hello /bighello /page8k /gif '/bigout?60000' '/bigout?0'; do check_ab 1000 "$route"; done
    check_ab 1000 /env -l
    head -c 1000 /dev/zero | tr '\0' p >"$dir/post"
    check_ab 1000 /echo -p "$dir/post" -T text/plain
    check_ab 1000 /bighello -i # HEAD
    check_end
}

# HTTP/1.0 without a word about the connection: ab waits for its end, also where it is all that ends the answer.
case_ab_that_keeps_nothing() {
    local route

    start plain
    for route in /hello /bighello '/bigout?200000'; do
        timeout 60 ab -q -n 500 -c 10 "$direct$route" >"$dir/ab" 2>&1 || fail "ab: $(tail -n 2 "$dir/ab")"
        check_equal 500 "$(awk '/^Complete requests:/ { print $3 }' "$dir/ab")" 'complete'
        check_equal 0 "$(awk '/^Failed requests:/ { print $3 }' "$dir/ab")" 'failed'
        if grep -qE '^(Non-2xx responses|Write errors|Keep-Alive requests):' "$dir/ab"; then fail "$(cat "$dir/ab")"; fi
    done
    check_end
}

case_httperf_keeps_its_connections() {
    start calls
    check_httperf 20 50 /hello "$(curl -sS "$direct/hello" | wc -c)"
    check_end
}

# Clients that end every connection with a reset.
case_httperf_closes_with_a_reset() {
    local before bytes

    start reset
    bytes=$(curl -sS "$direct/hello" | wc -c)
    reset_connections 500 "$bytes"
    before=$(resident_kb)
    reset_connections 2000 "$bytes"
    [ $(($(resident_kb) - before)) -lt 1024 ] || fail "memory grew from $before to $(resident_kb) KB"
    check_end
    if grep -qE ' (error|fatal) ' "$dir/reset/log"; then fail "$(grep -E ' (error|fatal) ' "$dir/reset/log")"; fi
}
reset_connections() { # count bytes
    timeout 60 httperf --hog --close-with-reset --server=127.0.0.1 --port="$MILLRACE_PORT" --uri=/hello --num-conns="$1" \
        --num-calls=1 --rate=1000 --timeout 5 --recv-buffer=65536 >"$dir/httperf" 2>&1 || fail "$(tail -n 2 "$dir/httperf")"
    check_match "connections $1 requests $1 replies $1 " "$(grep '^Total:' "$dir/httperf")"
    check_equal 'Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0' \
        "$(grep '^Errors: total' "$dir/httperf")"
    check_match "content $2\\.0 " "$(grep '^Reply size' "$dir/httperf")"
}

# -- curl ----------------------------------------------------------------------------------------------------------------

upload() { # file [curl-option...]: the body comes to $dir/back, what curl says to $dir/verbose
    local file=$1
    shift
    curl -sSv --max-time 20 -T "$file" -o "$dir/back" -w '%{http_code} %{size_upload} %{time_total}' "$@" "$direct/echo" \
        2>"$dir/verbose" || fail "curl: $(tail -n 2 "$dir/verbose")"
}
check_soon() { # seconds: curl waits one for 100 before it sends all the same
    awk -v seconds="$1" 'BEGIN { exit !(seconds < 0.9) }' || fail "$1 s"
}

case_curl_uploads() {
    local way result said seconds

    start upload 'max_body = 4M'
    head -c 2097152 /dev/urandom >"$dir/body"
    for way in '-H Expect:100-continue' '-H Expect:' '-H Transfer-Encoding:chunked -H Expect:100-continue' \
        '-H Transfer-Encoding:chunked -H Expect:' '--http1.0'; do
        # shellcheck disable=SC2086 # options
        result=$(upload "$dir/body" $way)
        read -r said _ seconds <<<"$result"
        check_equal 200 "$said" "$way"
        check_soon "$seconds"
        check_same_bytes "$dir/body" "$dir/back" "$way"
        case $way in
        *100-continue*) check_equal 1 "$(grep -c '^< HTTP/1.1 100 Continue' "$dir/verbose")" "100 with $way" ;;
        *) check_equal 0 "$(grep -c '^< HTTP/1.1 100' "$dir/verbose" || true)" "100 with $way" ;;
        esac
    done
    check_end
}

case_curl_reads_413() {
    local way result said sent seconds

    start over 'max_body = 1M'
    head -c 10485760 /dev/zero >"$dir/body"
    for way in '-H Expect:100-continue' '-H Expect:' '-H Transfer-Encoding:chunked -H Expect:100-continue' \
        '-H Transfer-Encoding:chunked -H Expect:' '--http1.0'; do
        # shellcheck disable=SC2086 # options
        result=$(upload "$dir/body" $way)
        read -r said sent seconds <<<"$result"
        check_equal 413 "$said" "$way"
        check_soon "$seconds"
        [ "$way" != '-H Expect:100-continue' ] || check_equal 0 "$sent" 'bytes sent for nothing'
    done
    check_end
}

# -- Slow clients --------------------------------------------------------------------------------------------------------

# Many more connections than threads, each as slow as the tool can be; everybody else is served meanwhile.
check_slow() { # name expected-end path [option...]
    local name=$1 expected=$2 path=$3 attacker slowest=0 took count=0
    shift 3

    start "$name" $'head_timeout = 1\nbody_timeout = 1\nwrite_timeout = 1'
    timeout 30 slowhttptest -c 120 -r 120 -l 3 -p 1 "$@" -u "$direct$path" >"$dir/slow" 2>&1 &
    attacker=$!
    while kill -0 "$attacker" 2>/dev/null; do
        took=$(curl -sS --max-time 5 -o "$dir/page" -w '%{http_code} %{time_total}' "$direct/hello") || fail 'curl has no answer'
        check_match '^200 ' "$took"
        took=$(awk '{ printf "%d", $2 * 1000 }' <<<"$took")
        [ "$slowest" -ge "$took" ] || slowest=$took
        count=$((count + 1))
        sleep 0.02
    done
    wait "$attacker" || true
    [ "$slowest" -lt 1000 ] || fail "another client waited $slowest ms"
    [ "$count" -ge 20 ] || fail "only $count others were served"
    check_match "$expected" "$(tail -n 3 "$dir/slow")"
    check_end
}

case_slowhttptest_slow_heads() {
    check_slow slow-head 'No open connections left' /hello -H -i 1
}

# One piece in two seconds is one too late.
case_slowhttptest_slow_bodies() {
    check_slow slow-body 'No open connections left' /echo -B -i 2 -s 100000
}

# Every second is in time, and costs nobody else anything.
case_slowhttptest_steady_bodies() {
    check_slow steady-body '(Hit test time limit|No open connections left)' /echo -B -i 1 -s 100000
}

case_slowhttptest_slow_readers() {
    check_slow slow-read '(Hit test time limit|No open connections left)' '/bigout?4000000' -X -w 1 -y 512 -n 1 -z 5
}

case_slowhttptest_ranges() {
    start ranges
    timeout 30 slowhttptest -R -c 60 -r 60 -l 3 -p 1 -t GET -u "$direct/bighello" >"$dir/slow" 2>&1 || true
    check_match 'No open connections left' "$(tail -n 3 "$dir/slow")"
    check_equal 200 "$(curl -sS -o "$dir/page" -w '%{http_code}' "$direct/bighello")"
    check_end
}

cases_run "$@"
