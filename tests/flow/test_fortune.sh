#!/bin/bash
# The fortune application through nginx: files that change, lie, or are none; the choice. Cases C43, C71 to C78 (the index
# itself is the unit test's).
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
stack_up

files=$MILLRACE_STATE/files
mkdir -p "$files/folder"

records() { # count word: as many records
    local number
    for ((number = 1; number <= $1; number++)); do printf '%s %d\n%%\n' "$2" "$number"; done
}

# One route for each file, beside those of the stack.
routes=(rename rewrite truncate missing empty separators folder fifo secret odd ten crlf large)
records 5 old >"$files/rename"
records 5 old >"$files/rewrite"
records 2000 long >"$files/truncate"
: >"$files/empty"
printf '%%\n%%\n\n%%\n' >"$files/separators"
mkfifo "$files/fifo"
records 3 hidden >"$files/secret"
chmod 000 "$files/secret"
printf '\xef\xbb\xbf<script>&"\x27 \xe4\xc3\xa4\x08\x1b[1m 100%%\n %%\n%% off' >"$files/odd"
records 10 ten >"$files/ten"
printf 'one\r\nline\r\n%%\r\n' >"$files/crlf"
{ head -c 3000000 /dev/zero | tr '\0' x && echo; } >"$files/large"
for route in "${routes[@]}"; do
    printf 'app "/f-%s" {\n file = "%s/apps/fortune.so"\n options { files = "%s" }\n}\n' "$route" "$BUILD" "$files/$route"
done >>"$MILLRACE_STATE/millrace.conf"
cases_need 'the server starts whatever the files are' env LANG=de_DE.UTF-8 "$root/runtime/spawn" restart

text() { # route: what stands between <pre> and </pre>
    fetch "/f-$1" | sed -n '/<pre>/,/<\/pre>/p' | sed -e 's/.*<pre>//' -e 's/<\/pre>.*//' | sed '/^$/d'
}

# Within a second of the change every answer is a whole record of the new file; before that, of the old one.
check_taken_up() { # route
    local end=$(($(now_ms) + 1000)) seen
    while [ "$(now_ms)" -lt "$end" ]; do
        seen=$(text "$1")
        check_match '^(old|new) [1-5]$' "$seen"
    done
    for _ in {1..30}; do check_match '^new [1-5]$' "$(text "$1")" 'a second later'; done
}

case_a_file_replaced_is_taken_up_within_a_second() {
    check_match '^old [1-5]$' "$(text rename)"
    records 5 new >"$files/other"
    mv "$files/other" "$files/rename"
    check_taken_up rename
}

case_a_file_rewritten_is_never_read_in_pieces() {
    check_match '^old [1-5]$' "$(text rewrite)"
    { printf '%%\n%%\n' && records 5 new; } >"$dir/unlike" # the old places would cut its records
    cat "$dir/unlike" >"$files/rewrite"
    check_taken_up rewrite
}

case_a_file_that_shrinks_under_load_ends_nobody() {
    local before after number
    before=$(pgrep -P "$(cat "$MILLRACE_STATE/millrace.pid")" | sort)
    for number in {1..60}; do
        case $((number % 3)) in
        0) : >"$files/truncate" ;;
        1) truncate -s 10 "$files/truncate" ;;
        2) records 2000 long >"$files/truncate" ;;
        esac
        check_match '^(200|503)$' "$(fetch_status /f-truncate)"
    done
    after=$(pgrep -P "$(cat "$MILLRACE_STATE/millrace.pid")" | sort)
    check_equal "$before" "$after" 'workers'
    records 5 whole >"$files/truncate"
    sleep 1 # the promise
    check_match '^whole [1-5]$' "$(text truncate)"
}

case_no_record_is_a_503() {
    local route
    for route in missing empty separators folder fifo; do
        check_equal 503 "$(fetch_status "/f-$route")" "$route"
        grep -qE " /f-$route: $files/$route: " "$MILLRACE_STATE/millrace.log" || fail "no line in the log about $route"
    done
}

# As a normal user the server runs as the file's owner, who is refused as well.
case_an_unreadable_file_is_a_503_and_few_lines() {
    local lines
    for _ in {1..12}; do
        check_equal 503 "$(fetch_status /f-secret)"
        sleep 0.1 # beyond the time between two looks at the file
    done
    lines=$(grep -c "permission denied" "$MILLRACE_STATE/millrace.log" || true)
    if [ "$lines" -lt 1 ] || [ "$lines" -gt 4 ]; then fail "$lines lines about the file"; fi
}

case_a_file_that_appears_is_told() {
    records 5 come >"$files/missing"
    sleep 1 # the promise
    check_match '^come [1-5]$' "$(text missing)"
}

# The bytes are the file's whatever the locale, escaped, without the byte order mark; only a line that is % separates.
case_odd_bytes_arrive_escaped() {
    fetch /f-odd -o "$dir/odd"
    printf '&lt;script&gt;&amp;&quot;&#39; \xe4\xc3\xa4\x08\x1b[1m 100%%\n %%\n%% off' >"$dir/expected"
    grep -qaF '&lt;script&gt;&amp;&quot;&#39;' "$dir/odd" || fail 'not escaped'
    python3 -c 'import sys; page = open(sys.argv[1], "rb").read(); sys.stdout.buffer.write(page.split(b"<pre>\n")[1].split(b"</pre>")[0])' "$dir/odd" >"$dir/seen"
    check_same_bytes "$dir/expected" "$dir/seen"
    check_match 'charset=utf-8' "$(fetch /f-odd -o /dev/null -D -)"
}

case_crlf_gives_the_same_text() {
    check_equal $'one\nline' "$(text crlf)"
    if fetch /f-crlf | grep -q $'\r'; then fail 'a CR in the page'; fi
}

case_a_large_record_arrives_whole() {
    check_equal 3000000 "$(fetch /f-large | tr -cd x | wc -c)" # nothing else of the page has an x
}

# Ten records, 4,000 answers: chi-square with 9 degrees of freedom is over 33.7 in one of 10,000 runs.
case_the_choice_is_uniform() {
    local urls=$dir/urls square
    for _ in {1..4000}; do echo "url = \"http://127.0.0.1:$MILLRACE_PORT/f-ten\""; done >"$urls"
    curl -s -K "$urls" | grep -aoE 'ten [0-9]+' >"$dir/told"
    check_equal 4000 "$(wc -l <"$dir/told")" 'answers'
    square=$(sort "$dir/told" | uniq -c | awk '{ sum += ($1 - 400) ^ 2 / 400; n++ } END { print n == 10 ? int(sum) : 99999 }')
    [ "$square" -lt 34 ] || fail "chi-square $square ($(sort "$dir/told" | uniq -c | tr '\n' ' '))"
}

# After each start other fortunes come first, in every worker.
case_sequences_differ_between_starts() {
    local start
    for start in 1 2 3; do
        "$root/runtime/spawn" restart >"$dir/spawn" 2>&1
        for _ in {1..20}; do text ten; done | tr '\n' ' ' >"$dir/sequence-$start"
    done
    check_equal 60 "$(cat "$dir"/sequence-* | grep -oE 'ten [0-9]+' | wc -l)" 'fortunes told'
    if cmp -s "$dir/sequence-1" "$dir/sequence-2" || cmp -s "$dir/sequence-2" "$dir/sequence-3"; then
        fail 'two starts told the same'
    fi
}

cases_run "$@"
