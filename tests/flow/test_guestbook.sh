#!/bin/bash
# The guestbook in headless Chromium, through nginx and directly: forms that are sent, refused, and sent by others; what was
# typed comes back as it was; the database goes away and comes back. Cases C69, C102.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/browser.sh
source "$root/tests/flow/browser.sh"
stack_up
browser_start "$(free_port)"

nginx=http://127.0.0.1:$MILLRACE_PORT direct=http://127.0.0.1:$((MILLRACE_PORT + 1))
page=$nginx/guestbook

sql() { # statement
    "$root/db/cluster" psql -X -q -At -v ON_ERROR_STOP=1 -c "$1"
}
count() {
    sql 'SELECT count(*) FROM guestbook'
}
forget_all() {
    sql 'TRUNCATE guestbook'
}

# -- With curl ----------------------------------------------------------------------------------------------------------

sign() { # name message [curl-option...]: the status
    local name=$1 message=$2
    shift 2
    curl -sS -o "$dir/answer" -w '%{http_code}' --max-time 20 --data-urlencode "name=$name" --data-urlencode "message=$message" "$@" \
        "$page"
}
sign_raw() { # body [curl-option...]: the status
    local body=$1
    shift
    curl -sS -o "$dir/answer" -w '%{http_code}' --max-time 20 --data-binary "$body" "$@" "$page"
}
repeat() { # text times
    local number
    for ((number = 0; number < $2; number++)); do printf %s "$1"; done
}
on_both_ways() { # function
    for page in "$nginx/guestbook" "$direct/guestbook"; do "$1"; done
}

lengths() {
    local long
    forget_all
    check_equal 303 "$(sign "$(repeat a 60)" "$(repeat b 2000)")" 'as long as may be'
    check_equal 303 "$(sign "$(repeat € 60)" "$(repeat 😀 2000)")" 'of several bytes each'
    long=$(repeat $'x\r\n' 1000)
    check_equal 303 "$(sign x "${long%$'\n'}")" 'lines end with one character'
    check_equal 3 "$(count)"
    check_equal '60 2000,60 2000,1 2000' \
        "$(sql "SELECT string_agg(length(name) || ' ' || length(message), ',' ORDER BY id) FROM guestbook")"
    check_equal 422 "$(sign "$(repeat a 61)" m)" 'a long name'
    grep -q 'aria-invalid="true" aria-describedby="fault-name" value="a\{61\}"' "$dir/answer" || fail 'the name is lost'
    check_equal 422 "$(sign n "$(repeat ü 2001)")" 'a long message'
    grep -qxF "$(repeat ü 2001)</textarea>" "$dir/answer" || fail 'the message is lost'
    check_equal 422 "$(sign '' '')" 'nothing'
    check_equal 2 "$(grep -c '<strong' "$dir/answer")" 'faults'
    check_equal 422 "$(sign $' \t' $'\r\n')" 'blanks'
    check_equal 422 "$(sign_raw 'message=m')" 'no name'
    check_equal 3 "$(count)"
}
case_lengths_are_counted_in_characters() {
    on_both_ways lengths
}

no_texts() {
    local body
    forget_all
    for body in 'name=a%00b&message=m' 'name=n&message=%00' $'name=n&message=\xff' 'name=n&message=%C0%80' \
        'name=%ED%A0%80&message=m' 'name=n&message=100%'; do
        check_equal 400 "$(sign_raw "$body")" "$body"
    done
    check_equal 415 "$(sign_raw 'name=n&message=m' -H 'Content-Type: text/plain')"
    check_equal 415 "$(curl -sS -o "$dir/answer" -w '%{http_code}' -F name=n -F message=m "$page")" multipart
    check_equal 413 "$(sign n "$(repeat x 100000)" -H 'Content-Length: 2000000')"
    check_equal 0 "$(count)"
    check_equal 303 "$(sign n m)" 'and then'
}
case_what_is_no_text_is_refused() {
    on_both_ways no_texts
}

marks() {
    local mark host=${page#http://}
    host=${host%/guestbook}
    forget_all
    for mark in 'Origin: http://evil.example' 'Origin: null' "Origin: http://$host.evil.example" "Origin: http://evil.example/$host" \
        'Origin: http://127.0.0.1' 'Origin:;' 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
        check_equal 403 "$(sign n m -H "${mark/:;/;}")" "$mark"
    done
    check_equal 403 "$(sign n m -H "Origin: http://$host" -H 'Sec-Fetch-Site: cross-site')" both
    check_equal 0 "$(count)"
    for mark in "Origin: http://$host" "ORIGIN: HTTP://$host" 'Sec-Fetch-Site: same-origin' 'Sec-Fetch-Site: none' 'X-None: 1'; do
        check_equal 303 "$(sign n m -H "$mark")" "$mark"
    done
    check_equal 5 "$(count)"
}
case_forms_of_other_sites_are_refused() {
    on_both_ways marks
}

methods() {
    check_equal 405 "$(curl -sS -o "$dir/answer" -D "$dir/head" -w '%{http_code}' -X PUT -d x "$page")"
    check_match 'Allow: GET, HEAD, POST' "$(cat "$dir/head")"
    check_equal 200 "$(curl -sS -o "$dir/answer" -w '%{http_code}' -I "$page")" HEAD
    check_equal 400 "$(curl -sS -o "$dir/answer" -w '%{http_code}' "$page?before=x")" 'no number'
    check_equal 400 "$(curl -sS -o "$dir/answer" -w '%{http_code}' "$page?before=99999999999999999999")" 'no bigint'
    check_equal 400 "$(curl -sS -o "$dir/answer" -w '%{http_code}' "$page?before=%00")" NUL
    check_equal 200 "$(curl -sS -o "$dir/answer" -w '%{http_code}' "$page?before=-1")" 'before the first'
}
case_methods_and_pages_that_are_none() {
    on_both_ways methods
}

# Location is right wherever the application is mounted.
case_it_works_under_any_route() {
    local http route
    http=$(free_port)
    runtime_start "$(runtime_conf mounted <<END
fastcgi = { "unix:@DIR@/m.sock" }
http = { "127.0.0.1:$http" }
pid_file = "@DIR@/pid"
log = "@DIR@/log"
app "/" { file = "@APPS@/guestbook.so" options { conninfo = "host=$MILLRACE_STATE/pg dbname=millrace user=millrace" } }
app "/our/visitors" { file = "@APPS@/guestbook.so" options { conninfo = "host=$MILLRACE_STATE/pg dbname=millrace user=millrace" } }
END
)"
    for route in / /our/visitors; do
        page=http://127.0.0.1:$http$route
        check_equal 303 "$(sign mounted "$route" -D "$dir/head")" "$route"
        check_equal "Location: $route" "$(grep -i '^location:' "$dir/head" | tr -d '\r')"
        curl -sS "$page" -o "$dir/answer"
        grep -qF "<form method=\"post\" action=\"$route\">" "$dir/answer" || fail "the form of $route"
    done
    runtime_stop
}

# -- In the browser -----------------------------------------------------------------------------------------------------

# The text as a string of JavaScript, in bytes that JSON and the shell leave alone.
quoted() { # text
    printf "'%s'" "$(printf %s "$1" | iconv -f UTF-8 -t UTF-16BE | od -An -v -tx2 --endian=big | tr -d '\n' | sed 's/ \(....\)/\\\\u\1/g')"
}
type_into() { # id text
    evaluate "(document.getElementById('$1').value=$(quoted "$2"))" >/dev/null
}
click() { # css-selector
    local element
    element=$(webdriver POST "/session/$session/element" "{\"using\":\"css selector\",\"value\":\"$1\"}" |
        sed -n 's/.*:"\([^"]*\)".*/\1/p')
    webdriver POST "/session/$session/element/$element/click" '{}' >/dev/null
}
send_form() { # name message
    type_into name "$1"
    type_into message "$2"
    click button
}
is_true() { # expression
    [ "$(evaluate "$1")" = true ]
}

signing() {
    forget_all
    browse light 1280
    check_equal Guestbook "$(evaluate 'document.title')"
    send_form 'A visitor' $'Good day,\n  all of you'
    wait_until is_true "document.querySelector('article h2')?.innerText==='A visitor'"
    check_equal "$page" "$(evaluate 'location.href')"
    check_equal 1 "$(count)"
    webdriver POST "/session/$session/refresh" '{}' >/dev/null
    check_equal 1 "$(evaluate "document.querySelectorAll('article').length")" 'entries after a reload'
    check_equal 1 "$(count)" 'rows after a reload'
    check_equal true "$(evaluate "document.querySelector('article p').innerText===$(quoted $'Good day,\n  all of you')")" 'its lines'
    check_equal true "$(evaluate "Math.abs(Date.now()-Date.parse(document.querySelector('time').dateTime))<60000")" 'its time'
    check_match '^[0-9]{1,2} [A-Z][a-z]+ 20[0-9]{2}, [0-9]{2}:[0-9]{2} UTC$' "$(evaluate "document.querySelector('time').innerText")"
    console_is_empty # the policy lets the style in
    check_equal 672px "$(evaluate "getComputedStyle(document.body).maxWidth")" 'the style'
    leave
}
case_signing_leads_back_to_the_list() {
    on_both_ways signing
}

escaping() {
    local text
    forget_all
    browse light 1280
    # shellcheck disable=SC2016 # nothing is to expand
    for text in '<script>window.hacked=1</script><img src=x onerror=window.hacked=1>' '"><b>&amp;&lt;</b>'"'" \
        '</textarea></form><h1>' 'Grüße, 世界, שלום, 👩‍👩‍👧 e'$'\u0301' "'); DROP TABLE guestbook; --" '\n\\ %s %n $1 +%41'; do
        send_form "${text:0:60}" "$text"
        wait_until is_true "document.querySelector('article p')?.innerText===$(quoted "$text")"
        check_equal true "$(evaluate "document.querySelector('article h2').innerText===$(quoted "${text:0:60}")")" "$text as a name"
    done
    check_equal 0 "$(evaluate "document.querySelectorAll('main script,main img,main b').length")"
    check_equal undefined "$(evaluate 'typeof window.hacked')"
    check_equal 6 "$(count)"
    console_is_empty
    leave
}
case_what_was_typed_comes_back() {
    export LC_ALL=C.UTF-8 # 60 characters, not bytes
    on_both_ways escaping
}

faults() {
    forget_all
    browse light 390
    send_form '   ' $'\n<i>"kept"\n'
    wait_until is_true "document.getElementById('fault-name')?.innerText==='Please enter your name.'"
    check_equal true "$(evaluate "document.getElementById('message').value===$(quoted $'\n<i>"kept"\n')")" 'the message is kept'
    check_equal true "$(evaluate "document.getElementById('name').getAttribute('aria-describedby')==='fault-name'")"
    check_equal false "$(evaluate "document.getElementById('message').hasAttribute('aria-invalid')")"
    type_into name "$(repeat n 61)"
    click button
    wait_until is_true "document.getElementById('fault-name')?.innerText==='This name is longer than 60 characters.'"
    check_equal true "$(evaluate "document.getElementById('name').value==='n'.repeat(61)")" 'the name is kept'
    send_form 'Visitor "<&>' ' '
    wait_until is_true "document.getElementById('fault-message')?.innerText==='Please enter a message.'"
    check_equal true "$(evaluate "document.getElementById('name').value===$(quoted 'Visitor "<&>')")" 'the name is kept'
    fits_the_window 390
    check_equal 0 "$(count)"
    type_into message 'at last'
    click button
    wait_until is_true "document.querySelector('article h2')?.innerText===$(quoted 'Visitor "<&>')"
    check_equal "$page" "$(evaluate 'location.href')"
    leave
}
case_faults_are_shown_and_what_was_typed_is_kept() {
    on_both_ways faults
}

# A page of another origin that sends the form: what a browser says of it is what the application goes by.
foreign() {
    forget_all
    browse light 1280
    visit "data:text/html,<form method=post action='$page'><input name=name value=n><input name=message value=m><button>Win</button></form>"
    click button
    wait_until is_true "document.querySelector('h1')?.innerText==='Another site sent this form'"
    check_equal 0 "$(count)"
    leave
}
case_another_site_cannot_sign() {
    on_both_ways foreign
}

fill() {
    forget_all
    sql "INSERT INTO guestbook (name, message) SELECT 'Visitor ' || n, repeat('W', n * 7) || E'\n' || repeat('two words ', n % 9)
        FROM generate_series(1, 120) AS n"
}

pages() {
    fill
    browse light 1280
    check_equal 'Visitor 120 Visitor 71 50' "$(evaluate "$shown")"
    click 'a[href*=before]'
    wait_until is_true "document.querySelector('h2').innerText==='Visitor 70'"
    check_equal 'Visitor 70 Visitor 21 50' "$(evaluate "$shown")"
    click 'a[href*=before]'
    wait_until is_true "document.querySelector('h2').innerText==='Visitor 20'"
    check_equal 'Visitor 20 Visitor 1 20' "$(evaluate "$shown")"
    check_equal 0 "$(evaluate "document.querySelectorAll('a[href*=before]').length")" 'older than the oldest'
    click 'a'
    wait_until is_true "document.querySelector('h2').innerText==='Visitor 120'"
    check_equal "$page" "$(evaluate 'location.href')"
    leave
}
shown="(h=>[h[0].innerText,h[h.length-1].innerText,h.length].join(' '))(document.querySelectorAll('h2'))"
case_fifty_entries_a_page() {
    on_both_ways pages
}

case_it_fits_the_window() {
    local width
    fill
    for width in 390 1280; do
        browse light "$width"
        fits_the_window "$width"
        leave
    done
}

# Lists, and forms with faults.
case_it_can_be_read() {
    local scheme
    fill
    for scheme in light dark; do
        browse "$scheme" 390
        can_be_read "$scheme"
        send_form ' ' ' '
        wait_until is_true "document.querySelectorAll('strong').length===2"
        can_be_read "$scheme"
        check_equal 672px "$(evaluate "getComputedStyle(document.body).maxWidth")" 'the style'
        leave
    done
}

# Each field has a label, and the keyboard reaches all of it in order.
case_it_is_labelled() {
    browse light 390
    check_equal en "$(evaluate 'document.documentElement.lang')"
    check_equal 'Your name at most 60 characters,Your message at most 2,000 characters' \
        "$(evaluate "[...document.querySelectorAll('input,textarea')].map(e=>e.labels[0].innerText)")"
    check_equal 'name,message,button' "$(evaluate "[...document.querySelectorAll('a,input,textarea,button')].slice(0,3).map(e=>e.id||e.localName)")"
    check_equal 0 "$(evaluate "document.scripts.length")" scripts
    leave
}

# -- The database -------------------------------------------------------------------------------------------------------

case_a_database_without_the_table_gets_it() {
    local before
    before=$(sql "SELECT md5(string_agg(id || name, ',' ORDER BY id)) FROM division")
    sql 'DROP TABLE guestbook'
    check_equal 503 "$(fetch_status /guestbook)"
    "$root/db/cluster" up >"$dir/cluster" 2>&1
    check_equal '' "$(cat "$dir/cluster")" 'what it says'
    check_equal 200 "$(fetch_status /guestbook)"
    check_equal 303 "$(sign n m)"
    "$root/db/cluster" up
    check_equal 1 "$(count)" 'what is there stays'
    check_equal "$before" "$(sql "SELECT md5(string_agg(id || name, ',' ORDER BY id)) FROM division")"
}

answers() { # status
    [ "$(curl -sS -o "$dir/answer" -D "$dir/head" -w '%{http_code}' --max-time 20 "$page")" = "$1" ]
}
away() {
    "$root/db/cluster" down >"$dir/cluster" 2>&1
    wait_until answers 503
    check_match 'Retry-After: [0-9]' "$(cat "$dir/head")"
    if grep -qiE 'select|postgres|sql|socket|relation' "$dir/answer"; then fail "the page tells: $(cat "$dir/answer")"; fi
    check_equal 503 "$(sign n m)"
    check_equal 200 "$(fetch_status /hello)"
    "$root/db/cluster" up >"$dir/cluster" 2>&1
    wait_until answers 200
    check_equal 303 "$(sign n m)"
}
case_the_database_goes_away_and_comes_back() {
    on_both_ways away
}

cases_run "$@"
