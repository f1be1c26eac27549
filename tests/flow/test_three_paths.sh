#!/bin/bash
# The same request on every path: as a file of nginx's, through nginx and FastCGI, and from the server itself. Statuses,
# content types and bodies are compared byte for byte, bodies of requests as /echo gives them back, and what an application
# is told as /env shows it: variable for variable, except for those that runtime/serve/VARIABLES.md names. Cases C58, C60,
# C100.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/load.sh
source "$root/tests/flow/load.sh"
stack_up

readonly variables=$root/runtime/serve/VARIABLES.md
readonly direct_port=$((MILLRACE_PORT + 1))

# -- Answers ---------------------------------------------------------------------------------------------------------

# Prints status, content type and Content-Length of an answer; its body goes to a file.
answer() { # port path file [curl-option...]
    local port=$1 path=$2 file=$3
    shift 3
    : >"$file"
    curl -sS -g --path-as-is --max-time 30 -o "$file" -w '%{http_code} %{content_type} %header{content-length}' "$@" \
        "http://127.0.0.1:$port$path"
}

# Every answer through nginx is the direct one.
check_both() { # path [curl-option...]
    local path=$1 proxied direct
    shift
    proxied=$(answer "$MILLRACE_PORT" "$path" "$dir/proxied" "$@")
    direct=$(answer "$direct_port" "$path" "$dir/direct" "$@")
    check_equal "$proxied" "$direct" "$path $*"
    check_same_bytes "$dir/proxied" "$dir/direct" "$path $*"
}

# The file's type is nginx's own choice by its name, so without a charset.
check_twin() { # route twin [curl-option...]
    local route=$1 twin=$2 direct static
    shift 2
    check_both "$route" "$@"
    direct=$(answer "$direct_port" "$route" "$dir/direct" "$@")
    static=$(answer "$MILLRACE_PORT" "/static/$twin" "$dir/static" "$@")
    check_equal "${static%% *}" "${direct%% *}" "status of $route $*"
    check_equal "${static##* }" "${direct##* }" "length of $route $*"
    check_same_bytes "$dir/static" "$dir/direct" "$route $*"
}

twins() {
    cat <<'END'
/hello hello.html
/bighello bighello.html
/database database.html
/page8k page8k.html
/gif gif.gif
END
}

case_pages_are_the_same_three_times() {
    local route twin version

    while read -r route twin; do
        for version in --http1.0 --http1.1; do check_twin "$route" "$twin" "$version"; done
    done < <(twins)
}

# With a HEAD curl's body is the head: only the first line and the two fields are compared.
case_heads_are_the_same_three_times() {
    local route twin version path length

    while read -r route twin; do
        length=$(stat -c %s "$MILLRACE_STATE/htdocs/static/$twin")
        for version in --http1.0 --http1.1; do
            for path in "$MILLRACE_PORT $route" "$direct_port $route" "$MILLRACE_PORT /static/$twin"; do
                # shellcheck disable=SC2086 # port and path
                check_match "^200 [a-z]+/[a-z]+.* $length\$" "$(answer $path "$dir/head" $version -I)" "HEAD $path $version"
            done
            check_equal "$(answer "$MILLRACE_PORT" "$route" "$dir/head" "$version" -I)" \
                "$(answer "$direct_port" "$route" "$dir/head" "$version" -I)" "HEAD $route $version"
        done
    done < <(twins)
}

# Which fortune it is, chance decides: the stack's own check knows them all.
case_fortunes_on_both_paths() {
    local fields='%{http_code} %{content_type} %header{cache-control}' port version

    for version in --http1.0 --http1.1; do
        for port in "$MILLRACE_PORT" "$direct_port"; do
            check_equal '200 text/html; charset=utf-8 no-store' "$(answer "$port" /fortune "$dir/page" "$version" -w "$fields")" \
                "$port $version"
            check_match '<pre>' "$(cat "$dir/page")"
        done
    done
    "$root/runtime/stack" check >"$dir/check" 2>&1 || fail "$(tail -n 1 "$dir/check")"
}

case_what_is_not_there() {
    check_both /nowhere
    check_both /helloo
    check_both /
    check_both '/nowhere?a=b' -d x
    check_equal "$(answer "$MILLRACE_PORT" /nowhere "$dir/head" -I)" "$(answer "$direct_port" /nowhere "$dir/head" -I)" HEAD
    check_equal 404 "$(answer "$direct_port" /static/hello.html "$dir/page" | cut -d ' ' -f 1)" 'files are nginx'"'"'s'
}

case_ab_keeps_its_connections_to_every_route() {
    local route twin

    MILLRACE_PORT=$direct_port
    while read -r route twin; do check_ab 300 "$route"; done < <(twins)
    check_ab 300 /fortune -l
    check_ab 300 /env -l
    head -c 100 /dev/zero | tr '\0' p >"$dir/post"
    check_ab 300 /echo -p "$dir/post" -T text/plain
}

# -- Bodies ----------------------------------------------------------------------------------------------------------

case_echo_gives_back_every_body() {
    local port size

    for size in 0 1 8191 8192 8193 65535 65536 65537 1048576 10485760; do
        head -c "$size" /dev/urandom >"$dir/body"
        for port in "$MILLRACE_PORT" "$direct_port"; do
            check_equal "200 application/octet-stream $size" \
                "$(answer "$port" /echo "$dir/back" --data-binary "@$dir/body")" "$size bytes to $port"
            check_same_bytes "$dir/body" "$dir/back" "$size bytes to $port"
            check_equal "200 application/octet-stream $size" \
                "$(answer "$port" /echo "$dir/back" --data-binary "@$dir/body" -H 'Transfer-Encoding: chunked')" \
                "$size bytes to $port, chunked"
            check_same_bytes "$dir/body" "$dir/back" "$size bytes to $port, chunked"
        done
    done
}

case_body_limits_to_the_byte() {
    local chunked='Transfer-Encoding: chunked' limit port route

    while read -r route limit; do
        head -c "$((limit + 1))" /dev/zero >"$dir/over"
        head -c "$limit" "$dir/over" >"$dir/at"
        head -c "$((limit - 1))" "$dir/over" >"$dir/under"
        for port in "$MILLRACE_PORT" "$direct_port"; do
            check_match '^200 ' "$(answer "$port" "$route" "$dir/page" --data-binary "@$dir/under")" "$port$route under"
            check_match '^200 ' "$(answer "$port" "$route" "$dir/page" --data-binary "@$dir/at")" "$port$route at"
            check_match '^413 ' "$(answer "$port" "$route" "$dir/page" --data-binary "@$dir/over")" "$port$route over"
            check_match '^200 ' "$(answer "$port" "$route" "$dir/page" --data-binary "@$dir/at" -H "$chunked")" \
                "$port$route at, chunked"
        done
    done <<'END'
/echo 16777216
/hello 1048576
END
}

# Only reading shows that there is too much: a handler that does not read may have answered before.
case_chunked_bodies_over_the_limit() {
    local port

    head -c 16777217 /dev/zero >"$dir/over"
    for port in "$MILLRACE_PORT" "$direct_port"; do
        check_match '^413 ' "$(answer "$port" /echo "$dir/page" --data-binary "@$dir/over" -H 'Transfer-Encoding: chunked')" "$port"
    done
}

# -- Variables -------------------------------------------------------------------------------------------------------

# The variables of a kind of request that may differ: the rows for every request, and those for this kind.
may_differ() { # kind
    # shellcheck disable=SC2016 # these are Markdown's
    sed -nE 's/^\| `([A-Z_]+)`( \(([a-z ]+)\))? \|.*/\1;\3/p' "$variables" | awk -F ';' -v kind="$1" '$2 == "" || $2 == kind { print $1 }'
}

# What /env shows, of a request with this target; a name and a Host are the same for both.
shown() { # port target [curl-option...]
    local port=$1 target=$2
    shift 2
    curl -sS -f --max-time 20 -A test -H 'Host: site.example' --request-target "$target" "$@" "http://127.0.0.1:$port/"
}

check_variables() { # kind target [curl-option...]
    local differing kind=$1 target=$2
    shift 2
    shown "$MILLRACE_PORT" "$target" "$@" >"$dir/proxied" || fail "no answer through nginx to $target $*"
    shown "$direct_port" "$target" "$@" >"$dir/direct" || fail "no direct answer to $target $*"
    check_match 'GATEWAY_INTERFACE=CGI/1.1' "$(cat "$dir/proxied")" "$target"
    differing=$(comm -3 "$dir/proxied" "$dir/direct" | tr -d '\t' | cut -d = -f 1 | sort -u |
        grep -vxFf <(may_differ "$kind") || true)
    [ -z "$differing" ] || fail "$target $*: $(for name in $differing; do
        echo "$name: $(grep "^$name=" "$dir/proxied" || echo absent) / $(grep "^$name=" "$dir/direct" || echo absent);"
    done)"
}

case_queries() {
    check_variables '' /env
    check_variables '' '/env?'
    check_variables '' '/env?a=1&b=%20&c=%zz+%00'
    check_variables '' '/env??a?b'
    check_variables '' '/env?/../x//y'
    check_variables '' $'/env?\xc3\xa4\xff"<>'
}

case_paths_below_a_route() {
    check_variables '' /env/
    check_variables '' /env/extra/path
    check_variables '' '/env/extra/path?a=b'
    check_variables '' /env/a.b/...
    check_variables '' '/env/a;b=c,d'
}

case_encoded_paths() {
    check_variables '' /%65nv
    check_variables '' /env/a%20b%2Fc%3fd%23e%25f
    check_variables '' /env/%c3%a4%ff%01%7f
    check_variables '' $'/env/\xc3\xa4'
    check_variables '' '/env/%252e%252e/x'
    check_variables '' '/env/a+b?a+b'
    check_variables '' '/env/\a%5cb'
}

case_dot_segments_and_slashes() {
    local target

    for target in /env/./a /env/a/../b /env/a/.. /env/. /hello/../env /hello/%2e%2e/env /hello/.%2E%2fenv//x //env ///env//a//b/ \
        /env/a/b/../../c/./d /hello/..//env /env/..a/.b/c.. '/x/../env?/../y' /env%2f%2fa; do
        check_variables '' "$target"
    done
}

case_cookies() {
    check_variables '' /env -H 'Cookie: a=1; b="2 3"'
    check_variables '' /env -H 'Cookie: a=1' -H 'Cookie: b=2'
}

case_repeated_fields() {
    check_variables '' /env -H 'X-List: 1' -H 'X-List: 2' -H 'x-list: 3'
    check_variables '' /env -H 'Accept: text/plain' -H 'Accept: text/html;q=0.5'
}

case_odd_field_names() {
    check_variables '' /env -H 'X-1: one' -H '1X: two' -H 'X--Y-: three'
    check_variables '' /env -H 'X_Under: dropped' -H 'X-Under: kept'
    check_variables '' /env -H 'X.Dot: 1' -H 'X!Bang: 1' -H "X'Quote: 1" -H 'X~: 1' -H 'X*|^`: 1' -H 'X$%&#+: 1'
    check_variables '' /env -H 'Proxy: http://evil.example/' -H 'pROXY: http://evil.example/'
    check_variables '' /env -H 'Remote-User: root' -H 'Script-Name: /other' -H 'Content-Type-X: 1'
    check_variables '' /env -H 'HTTP-Host: other' -H 'https: on'
}

case_odd_field_values() {
    check_variables '' /env -H 'X-Empty;' -H 'X-Spaces:   a  b   '
    check_variables '' /env -H $'X-Tabs: a\tb'
    check_variables 'tabs around a value' /env -H $'X-Tabs: \ta\tb\t'
    check_variables '' /env -H $'X-Bytes: \xc3\xa4\xff"<>'
    check_variables '' /env -H "X-Long: $(head -c 6000 /dev/zero | tr '\0' l)"
}

case_fields_of_the_connection() {
    check_variables '' /env -H 'Connection: close'
    check_variables '' /env -H 'Connection: keep-alive, X-Hop' -H 'X-Hop: 1' -H 'Keep-Alive: 5'
    check_variables '' /env -H 'Connection: Upgrade' -H 'Upgrade: websocket'
    check_variables '' /env -H 'TE: trailers' -H 'Trailer: X-Sum' -H 'Via: 1.1 x' -H 'Range: bytes=0-1' -H 'If-None-Match: "x"'
    check_variables 'basic authorization' /env -H 'Authorization: Basic dXNlcjpwYXNz'
    check_variables '' /env -H 'Authorization: Bearer abc'
}

case_a_client_that_nobody_trusts_says_where_it_comes_from() {
    check_variables '' /env -H 'X-Forwarded-For: 203.0.113.7'
    check_variables '' /env -H 'X-Forwarded-For: 203.0.113.7, 10.0.0.1' -H 'X-Forwarded-Proto: https' -H 'X-Forwarded-Host: a.example'
    check_variables '' /env -H 'X-Real-IP: 203.0.113.7' -H 'Forwarded: for=203.0.113.7;proto=https'
    check_variables '' /env -H 'X-Forwarded-For: 203.0.113.7' -H 'X-Forwarded-For: 10.0.0.1'
}

case_methods_and_bodies() {
    check_variables '' /env -d 'twelve bytes' -H 'Content-Type: text/x-test; charset=utf-8'
    check_variables '' /env -d '' -H 'Content-Type:'
    check_variables '' /env -X PUT -d 'a body'
    check_variables '' /env -X DELETE
    check_variables '' /env -X PATCH -d x
    check_variables '' /env -X OPTIONS
    check_variables '' /env -X BREW
    check_variables '' /env -H 'Content-Type: text/plain'
    check_variables '' /env -H 'Content-Length: 0'
    check_variables '' /env -d x -H 'Expect: 100-continue'
}

case_chunked_bodies() {
    head -c 200000 /dev/zero >"$dir/body"
    check_variables '' /env -d 'some bytes' -H 'Transfer-Encoding: chunked'
    check_variables '' /env -d '' -H 'Transfer-Encoding: chunked'
    check_variables 'long chunked body' /env --data-binary "@$dir/body" -H 'Transfer-Encoding: chunked'
}

# A HEAD has no body to compare: of its variables the server shows the length of what it would have said.
case_head_requests() {
    check_equal "$(shown "$MILLRACE_PORT" /env -I -o /dev/null -w '%{http_code} %{content_type}')" \
        "$(shown "$direct_port" /env -I -o /dev/null -w '%{http_code} %{content_type}')"
}

case_http_1_0() {
    check_variables '' /env --http1.0
    check_variables '' /env --http1.0 -H 'Host:'
    check_variables '' /env --http1.0 -H 'Connection: keep-alive'
    check_variables '' /env --http1.0 -d 'a body'
}

case_absolute_targets() {
    check_variables '' 'http://site.example/env/a?b=c'
    check_variables '' 'HTTP://site.example/env'
    check_variables '' 'http://other.example:81/env?q'
    check_variables '' 'http://site.example/hello/../env'
}

case_odd_hosts() {
    local host

    for host in SITE.Example site.example:8080 site.example. 127.0.0.1 '[::1]:80' a_b; do
        check_variables '' /env -H "Host: $host"
    done
}

# What may differ has its own true value.
case_variables_that_may_differ() {
    shown "$direct_port" '/env/x?y' -H 'Host: Site.Example:99' >"$dir/direct"
    check_match $'\n'"SERVER_PORT=$direct_port"$'\n' "$(cat "$dir/direct")"
    check_match $'\n''SERVER_SOFTWARE=millrace/' "$(cat "$dir/direct")"
    check_match $'\n''REMOTE_PORT=[0-9]+'$'\n' "$(cat "$dir/direct")"
    check_match $'\n''SERVER_NAME=[Ss]ite\.[Ee]xample'$'\n' "$(cat "$dir/direct")"
    if grep -q '^REMOTE_USER=.' "$dir/direct"; then fail 'a REMOTE_USER'; fi
}

# Every row of the document is true of some request here: its variable differs.
case_every_row_of_the_document_is_needed() {
    local name needed=''

    shown "$MILLRACE_PORT" /env >"$dir/proxied"
    shown "$direct_port" /env >"$dir/direct"
    needed=$(comm -3 "$dir/proxied" "$dir/direct" | tr -d '\t' | cut -d = -f 1 | sort -u)
    while read -r name; do
        grep -qxF "$name" <<<"$needed" || fail "$name does not differ: take its row out of ${variables#"$root/"}"
    done < <(may_differ '')
}

# Paths that nginx refuses the server refuses as well, and the other way round.
case_odd_paths_get_the_same_status() {
    local direct path proxied

    while read -r path; do
        proxied=$(curl -sS -o /dev/null -w '%{http_code}' --max-time 20 --request-target "$path" "http://127.0.0.1:$MILLRACE_PORT/")
        direct=$(curl -sS -o /dev/null -w '%{http_code}' --max-time 20 --request-target "$path" "http://127.0.0.1:$direct_port/")
        check_equal "$proxied" "$direct" "$path"
    done <<'END'
/..
/../hello
/hello/../../hello
/hello/%2e%2e/%2e%2e/hello
/%2e%2e%2fhello
/hello%00
/hello/%0
/hello/%
/hello/%zz
/hello/%2
/hello/a%0db
/hello/..
/hello/.
/hello/x
/hello.
/HELLO
/hello%20
/hello//
/hello/;x
hello
*
http:/hello
http://site.example
http://site.example?x
http://site.example/hello
END
}

cases_run "$@"
