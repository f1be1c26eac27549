# shellcheck shell=bash
# The load tools against a stack, judged strictly: a report counts only when every request was answered with 2xx, none
# failed and every connection was kept. Source it after cases.sh.
# shellcheck disable=SC2154 # dir comes from cases.sh

check_ab() { # requests route [option...]
    local count=$1 url=http://127.0.0.1:$MILLRACE_PORT$2
    shift 2
    timeout 120 ab -q -k -n "$count" -c 10 "$@" "$url" >"$dir/ab" 2>&1 || fail "ab: $(tail -n 2 "$dir/ab")"
    check_equal "$count" "$(awk '/^Complete requests:/ { print $3 }' "$dir/ab")" 'complete'
    check_equal 0 "$(awk '/^Failed requests:/ { print $3 }' "$dir/ab")" 'failed'
    check_equal "$count" "$(awk '/^Keep-Alive requests:/ { print $3 }' "$dir/ab")" 'kept'
    if grep -qE '^(Non-2xx responses|Write errors):' "$dir/ab"; then fail "$(grep -E '^(Non-2xx|Write)' "$dir/ab")"; fi
}

# httperf's time-out is for silence between two of its events; the outer one is for a tool that hangs.
check_httperf() { # connections calls route bytes
    local total=$(($1 * $2))

    timeout 120 httperf --hog --server=127.0.0.1 --port="$MILLRACE_PORT" --uri="$3" --num-conns="$1" --num-calls="$2" \
        --rate=1000 --timeout 5 --recv-buffer=65536 >"$dir/httperf" 2>&1 || fail "httperf: $(tail -n 2 "$dir/httperf")"
    check_match "connections $1 requests $total replies $total " "$(grep '^Total:' "$dir/httperf")"
    check_match "2xx=$total " "$(grep '^Reply status:' "$dir/httperf")"
    check_equal 'Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0' \
        "$(grep '^Errors: total' "$dir/httperf")"
    check_match 'fd-unavail 0 addrunavail 0 ftab-full 0 other 0' "$(grep '^Errors: fd-unavail' "$dir/httperf")"
    check_match "content $4\\.0 " "$(grep '^Reply size' "$dir/httperf")"
}
