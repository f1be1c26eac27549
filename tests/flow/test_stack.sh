#!/bin/bash
# The whole stack through nginx: every route byte for byte, bodies, variables, load tools, what is never cached.
# Cases C24, C34, C58, C60, C78, C92, C100.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/load.sh
source "$root/tests/flow/load.sh"
stack_up

state=$MILLRACE_STATE

# The log of the runtime of this stack.
runtime_log=$state/millrace.log

case_every_route_is_its_static_twin() {
    local route twin

    while read -r route twin; do
        fetch "$route" -o "$dir/proxied"
        fetch "/static/$twin" -o "$dir/static"
        check_same_bytes "$dir/static" "$dir/proxied" "$route"
    done <<'END'
/hello hello.html
/bighello bighello.html
/database database.html
/page8k page8k.html
/gif gif.gif
END
}

case_exact_sizes() {
    local path size

    while read -r path size; do
        check_equal "$size" "$(fetch "$path" | wc -c)" "size of $path"
    done <<'END'
/hello 450
/static/hello.html 450
/bighello 23888
/static/bighello.html 23888
/database 460
/static/database.html 460
/page8k 8192
/static/page8k.html 8192
/gif 43
/static/gif.gif 43
/empty_gif 43
END
    fetch /hello | grep -q 'Hello, World' || fail '/hello does not greet'
    fetch /bighello | tail -c 200 | grep -q 'Hello, World' || fail '/bighello does not greet at its end'
}

case_content_length_and_type() {
    local head path

    for path in /hello /bighello /database /page8k /fortune /gif; do
        head=$(fetch "$path" -o /dev/null -D -)
        check_match '[Cc]ontent-[Ll]ength: [0-9]+' "$head" "$path"
        check_match '[Cc]ontent-[Tt]ype: ' "$head" "$path"
        if grep -qi '^transfer-encoding' <<<"$head"; then fail "$path is chunked"; fi
    done
    check_match 'image/gif' "$(fetch /gif -o /dev/null -w '%{content_type}')"
    check_match 'text/html' "$(fetch /hello -o /dev/null -w '%{content_type}')"
}

case_the_database_page_holds_what_the_database_holds() {
    local name

    fetch /database -o "$dir/page"
    while read -r name; do
        grep -qF -- "${name//&/&amp;}" "$dir/page" || fail "no '$name' in the page"
    done < <("$root/db/cluster" psql -At -c 'SELECT name FROM division')
    check_equal 11 "$("$root/db/cluster" psql -At -c 'SELECT count(*) FROM division')" 'rows'
}

case_head_requests() {
    local path

    for path in /hello /bighello /gif /static/hello.html; do
        check_equal "$(fetch "$path" | wc -c)" \
            "$(fetch "$path" -I | tr -d '\r' | awk 'tolower($1) == "content-length:" { print $2 }')" "HEAD $path"
    done
}

case_unknown_paths() {
    check_equal 404 "$(fetch_status /nowhere)"
    check_equal 404 "$(fetch_status /static/nowhere.html)"
    check_equal 404 "$(fetch_status /helloo)"
    check_equal 200 "$(fetch_status /hello)"
}

case_nothing_above_the_static_folder() {
    local path

    for path in /static/../millrace.conf /static/%2e%2e/millrace.conf /static/..%2fmillrace.conf /static//../../etc/passwd; do
        check_match '^(400|403|404)$' "$(fetch_status "$path" --path-as-is)" "$path"
    done
}

# -- Load tools ------------------------------------------------------------------------------------------------------

case_ab_on_hello() {
    check_ab 2000 /hello
}

case_ab_on_every_route() {
    local route

    for route in /bighello /database /page8k /gif /static/hello.html; do
        check_ab 300 "$route"
    done
    check_ab 300 /fortune -l
}

case_httperf_on_hello() {
    check_httperf 20 100 /hello 450
}

case_posts_are_never_lost() {
    head -c 100 /dev/zero | tr '\0' p >"$dir/post"
    check_ab 2000 /echo -p "$dir/post" -T text/plain
}

# -- Bodies ----------------------------------------------------------------------------------------------------------

case_echo_is_byte_exact() {
    local size

    for size in 0 1 16383 16384 16385 65535 65536 1048576 10485760; do
        head -c "$size" /dev/urandom >"$dir/body"
        fetch /echo --data-binary "@$dir/body" -H 'Content-Type: application/octet-stream' -o "$dir/echo"
        check_same_bytes "$dir/body" "$dir/echo" "$size bytes"
        fetch /echo --data-binary "@$dir/body" -H 'Transfer-Encoding: chunked' -o "$dir/echo"
        check_same_bytes "$dir/body" "$dir/echo" "$size bytes, chunked"
    done
}

case_echo_keeps_every_byte_value() {
    LC_ALL=C awk 'BEGIN { for (k = 0; k < 100; k++) for (i = 0; i < 256; i++) printf "%c", i }' >"$dir/bytes"
    fetch /echo --data-binary "@$dir/bytes" -o "$dir/echo"
    check_same_bytes "$dir/bytes" "$dir/echo"
}

case_body_limits_to_the_byte() {
    local limit route

    while read -r route limit; do
        head -c "$((limit + 1))" /dev/zero >"$dir/over"
        head -c "$limit" /dev/zero >"$dir/at"
        check_equal 200 "$(fetch_status "$route" --data-binary "@$dir/at")" "$limit bytes to $route"
        check_equal 413 "$(fetch_status "$route" --data-binary "@$dir/over")" "$limit + 1 bytes to $route"
        check_equal 413 "$(fetch_status "$route" --data-binary "@$dir/over" -H 'Transfer-Encoding: chunked')" \
            "$limit + 1 bytes to $route, chunked"
    done <<'END'
/echo 16777216
/hello 1048576
END
}

case_a_slow_upload_arrives() {
    local part

    head -c 300000 /dev/urandom >"$dir/body"
    { for part in 0 1 2; do
        dd if="$dir/body" bs=100000 skip="$part" count=1 status=none
        read -rt 0.2 <> <(:) || true
    done; } | fetch /echo -X POST -H 'Transfer-Encoding: chunked' --data-binary @- -o "$dir/echo"
    check_same_bytes "$dir/body" "$dir/echo"
}

# -- Variables -------------------------------------------------------------------------------------------------------

case_variables_of_rfc_3875() {
    local name

    fetch '/env/extra/path?a=1&b=%20' -X POST --data-binary 'twelve bytes' -H 'Content-Type: text/x-test' \
        -H 'X-Own-Header: its value' >"$dir/env"
    while read -r name; do
        grep -qxF -- "$name" "$dir/env" || fail "no '$name' among $(tr '\n' ' ' <"$dir/env")"
    done <<END
REQUEST_METHOD=POST
QUERY_STRING=a=1&b=%20
SCRIPT_NAME=/env
PATH_INFO=/extra/path
CONTENT_LENGTH=12
CONTENT_TYPE=text/x-test
GATEWAY_INTERFACE=CGI/1.1
SERVER_PROTOCOL=HTTP/1.1
SERVER_PORT=$MILLRACE_PORT
REMOTE_ADDR=127.0.0.1
HTTP_X_OWN_HEADER=its value
HTTP_HOST=127.0.0.1:$MILLRACE_PORT
END
    for name in SERVER_NAME SERVER_SOFTWARE REQUEST_URI; do
        grep -q "^$name=." "$dir/env" || fail "no $name"
    done
    sort -c "$dir/env" || fail 'not sorted'
    check_equal '' "$(cut -d= -f1 "$dir/env" | sort | uniq -d)" 'variables that come twice'
}

case_the_proxy_header_does_not_become_http_proxy() {
    local variables

    variables=$(fetch /env -H 'Proxy: http://evil.example/' -H 'pRoXy: http://evil.example/')
    if grep -qi '^HTTP_PROXY=' <<<"$variables"; then fail "$(grep -i '^HTTP_PROXY=' <<<"$variables")"; fi
    if grep -q evil <<<"$variables"; then fail "$(grep evil <<<"$variables")"; fi
}

case_headers_cannot_play_variables() {
    local variables

    variables=$(fetch /env -H 'REMOTE_USER: root' -H 'Remote-User: root' -H 'Script_Name: /other')
    if grep -q '^REMOTE_USER=root' <<<"$variables"; then fail 'REMOTE_USER was taken from a header'; fi
    check_match 'SCRIPT_NAME=/env' "$variables"
}

# -- Never cached ----------------------------------------------------------------------------------------------------

case_fortunes_vary() {
    local count

    count=$(for _ in {1..60}; do fetch /fortune | md5sum; done | sort -u | wc -l)
    [ "$count" -gt 40 ] || fail "only $count different fortunes in 60 requests"
}

# Handler calls = requests: the workers tell how many they have served when they stop.
case_every_request_reaches_its_handler() {
    local before served

    before=$(wc -l <"$runtime_log")
    "$root/runtime/spawn" restart >"$dir/spawn" 2>&1
    before=$(wc -l <"$runtime_log")
    for _ in {1..137}; do fetch /page8k -o /dev/null; done
    "$root/runtime/spawn" restart >"$dir/spawn" 2>&1
    served=$(tail -n "+$((before + 1))" "$runtime_log" |
        sed -n 's/.*served \([0-9]*\) requests on \/page8k, 0 errors.*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }')
    check_equal 137 "$served" 'requests on /page8k'
}

case_answers_forbid_caching_where_they_change() {
    local path

    for path in /fortune /database /guestbook /env; do
        check_match '[Cc]ache-[Cc]ontrol: .*no-store' "$(fetch "$path" -o /dev/null -D -)" "$path"
    done
}

# -- Beside each other -----------------------------------------------------------------------------------------------

case_a_hundred_idle_clients_slow_nobody() {
    local number start took

    for ((number = 0; number < 100; number++)); do
        eval "exec $((number + 20))<>/dev/tcp/127.0.0.1/$MILLRACE_PORT"
        printf 'GET /hello HTTP/1.1\r\nHost: x\r\n\r\n' >&$((number + 20))
        read -rt 5 <&$((number + 20)) || fail "no answer on connection $number"
    done
    start=$(now_ms)
    for _ in {1..20}; do fetch /hello -o /dev/null; done
    took=$(($(now_ms) - start))
    [ "$took" -lt 2000 ] || fail "20 requests took $took ms"
}

# What the cases above provoke is told apart by its words.
case_nginx_says_nothing_is_wrong() {
    local lines

    [ -s "$state/nginx.log" ] || fail 'nginx has no log'
    lines=$(grep -E '\[(warn|error|crit|alert|emerg)\]' "$state/nginx.log" |
        grep -vE 'too large (chunked )?body|\(2: No such file or directory\)|is buffered to a temporary file' || true)
    check_equal '' "$(head -n 1 <<<"$lines")" "$(grep -c . <<<"$lines") lines, the first"
}

case_the_server_says_nothing_is_wrong() {
    local lines

    lines=$(grep -E ' (warn|error) ' "$runtime_log" || true)
    check_equal '' "$(head -n 1 <<<"$lines")" "$(grep -c . <<<"$lines") lines, the first"
}

# -- A crash ---------------------------------------------------------------------------------------------------------

# A sanitizer makes an exit status of the signal: AddressSanitizer 1, ThreadSanitizer 66.
crashes() {
    grep -cE 'ended by signal 11|ended with status (1|66)$' "$runtime_log" || true
}

has_crashed() { # times
    [ "$(crashes)" = "$1" ]
}

# With the shipped configuration: a POST is never repeated, a GET once at most; nobody else is harmed.
case_a_crash_is_a_502_for_its_request_alone() {
    local number

    [ -r "$BUILD/tests/apps/crash.so" ] || fail 'the test applications are not built'
    cp "$BUILD/tests/apps/crash.so" "$state/crash.so"
    echo "app \"/crash\" { file = \"$state/crash.so\" }" >>"$state/millrace.conf"
    "$root/runtime/spawn" restart >"$dir/spawn" 2>&1 || fail "$(tail -n 1 "$dir/spawn")"
    for number in 1 2 3; do
        for _ in {1..20}; do check_equal 200 "$(fetch_status /hello)"; done
        check_equal 502 "$(fetch_status /crash -d x)" POST
        for _ in {1..20}; do check_equal 200 "$(fetch_status /hello)" 'after a crash'; done
        check_equal 200 "$(fetch_status /echo -d x)" 'a POST after a crash'
        wait_until has_crashed "$number"
    done
    check_equal 502 "$(fetch_status /crash)" GET
    [ "$(crashes)" -le 5 ] || fail "$(crashes) crashes by three POSTs and a GET"
    check_equal 200 "$(fetch_status /hello)"
}

cases_run "$@"
