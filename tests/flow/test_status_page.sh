#!/bin/bash
# The status page in headless Chromium, driven through WebDriver: it shows what happens, refreshes itself, runs nothing that
# came from outside, fits a telephone's width, and can be read in both colour schemes.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

port=$(free_port)
driver=http://127.0.0.1:$((port + 1))
page=http://127.0.0.1:$port/

# -- The server ---------------------------------------------------------------------------------------------------------

runtime_start "$(runtime_conf page <<END
fastcgi = { "unix:@DIR@/m.sock" }
pid_file = "@DIR@/pid"
log = "@DIR@/log"
status = "127.0.0.1:$port"
threads = 8
app "/hello" { file = "@APPS@/hello.so" }
app "/sleeper" { file = "@TESTAPPS@/sleeper.so" }
app "/status" { file = "@TESTAPPS@/status.so" }
END
)"

ask() { # path query
    SCRIPT_NAME=$1 REQUEST_URI="$1?$2" QUERY_STRING=$2 REQUEST_METHOD=GET timeout 20 cgi-fcgi -bind -connect "$dir/page/m.sock"
}

# -- The browser --------------------------------------------------------------------------------------------------------

# A WebDriver command. Prints the answer's value, without what is around it.
webdriver() { # method path [json]
    local answer
    answer=$(curl -sS --max-time 60 -X "$1" -H 'Content-Type: application/json' ${3:+--data-binary "$3"} "$driver$2") || return 1
    answer=${answer#'{"value":'}
    printf '%s' "${answer%'}'}"
}

browse() { # colour-scheme width
    local options
    options='"--headless=new","--no-sandbox","--disable-gpu","--disable-dev-shm-usage","--hide-scrollbars",'
    options+="\"--user-data-dir=$(mktemp -d "$dir/chromium.XXXXXX")\",\"--window-size=$2,900\""
    [ "$1" = light ] || options+=',"--force-dark-mode"'
    webdriver POST /session "{\"capabilities\":{\"alwaysMatch\":{\"goog:loggingPrefs\":{\"browser\":\"ALL\"},
        \"goog:chromeOptions\":{\"args\":[$options],\"mobileEmulation\":{\"deviceMetrics\":{\"width\":$2,\"height\":900,\"pixelRatio\":1,\"mobile\":false}}}}}}" \
        >"$dir/session.json" || fail "no session: $(cat "$dir/session.json")"
    session=$(sed -n 's/.*"sessionId":"\([0-9a-f]*\)".*/\1/p' "$dir/session.json")
    [ -n "$session" ] || fail "no session: $(cat "$dir/session.json")"
    webdriver POST "/session/$session/url" "{\"url\":\"$page\"}" >/dev/null
}
leave() {
    webdriver DELETE "/session/$session" >/dev/null
    session=
}
evaluate() { # expression: its value as text
    webdriver POST "/session/$session/execute/sync" "{\"script\":\"return String($1)\",\"args\":[]}" |
        sed 's/^"//; s/"$//; s/\\u003C/</g'
}

if ! command -v chromedriver >/dev/null || ! command -v chromium >/dev/null; then
    echo "skip - $title: chromium and chromium-driver are not installed"
    exit 0
fi
chromedriver --port=$((port + 1)) --log-path="$dir/chromedriver.log" </dev/null >/dev/null 2>&1 &
at_end "kill $!"
# A case that has failed leaves its browser.
at_end "for one in \$(curl -s $driver/sessions | grep -o '[0-9a-f]\{32\}'); do curl -s -X DELETE $driver/session/\$one; done"
cases_need 'chromedriver answers' wait_until curl -sf "$driver/status"

# -- Cases --------------------------------------------------------------------------------------------------------------

shows() { # text that main holds
    [[ $(evaluate "document.querySelector('main').innerText") == *"$1"* ]]
}

case_it_shows_what_happens_and_refreshes_itself() {
    browse light 1280
    check_match 'Millrace' "$(evaluate 'document.title')"
    shows /hello || fail "no /hello: $(evaluate "document.querySelector('main').innerText")"
    evaluate '(window.stays=true)' >/dev/null
    ask /sleeper '6000' >/dev/null &
    wait_until shows 'GET /sleeper?6000'
    for _ in {1..7}; do ask /hello '' >/dev/null; done
    # shellcheck disable=SC2016 # the page's own
    wait_until counted 7
    check_equal true "$(evaluate 'window.stays')" 'the page was not loaded anew'
    wait
    leave
}
counted() { # requests on /hello
    [ "$(evaluate "[...document.querySelectorAll('tr')].find(r=>r.cells[0].innerText.trim()==='/hello').cells[2].innerText")" = "$1" ]
}

case_nothing_from_outside_runs() {
    browse light 1280
    ask /sleeper '4000&<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"'"'" >/dev/null &
    wait_until shows '<script>window.hacked'
    check_equal undefined "$(evaluate 'typeof window.hacked')"
    check_equal 0 "$(evaluate "document.querySelectorAll('main script,main img').length")"
    check_equal '[]' "$(webdriver POST "/session/$session/se/log" '{"type":"browser"}')" "the browser's console"
    wait
    leave
}

case_it_fits_the_window() {
    local width
    for width in 390 1280; do
        browse light "$width"
        ask /sleeper "1500&$(printf 'x%.0s' {1..120})" >/dev/null &
        wait_until shows sleeper
        check_equal "$width" "$(evaluate 'document.documentElement.clientWidth')" 'the window'
        check_equal true "$(evaluate 'document.documentElement.scrollWidth<=document.documentElement.clientWidth')" \
            "no horizontal scrolling at $width px"
        wait
        leave
    done
}

# What changes below a reader's eyes leaves the page, and each table in its box, where they are.
case_it_keeps_its_place() {
    local place box="document.querySelector('#routes .box')"
    browse light 390
    evaluate "(scrollTo(0,200),$box.scrollLeft=150)" >/dev/null
    place=$(evaluate "[scrollY,$box.scrollLeft]")
    check_match '^[1-9][0-9]*,150$' "$place"
    ask /hello '' >/dev/null
    evaluate "(window.before=$box.innerText)" >/dev/null
    wait_until changed "$box.innerText"
    check_equal "$place" "$(evaluate "[scrollY,$box.scrollLeft]")" 'scrolled to'
    leave
}
changed() { # expression
    ask /hello '' >/dev/null
    [ "$(evaluate "$1!==window.before")" = true ]
}

# The lowest contrast of a text with what is behind it (WCAG 2.1: 4.5 at least), over all elements that have text of their own.
contrast="(()=>{const n=c=>c.match(/[0-9.]+/g).map(Number);const l=c=>{const[r,g,b]=n(c).map(v=>{v/=255;return v<=0.03928?v/12.92:((v+0.055)/1.055)**2.4});\
return 0.2126*r+0.7152*g+0.0722*b};const back=e=>{for(;e;e=e.parentElement){const c=getComputedStyle(e).backgroundColor;if(n(c)[3]!==0)return c}return 'rgb(255,255,255)'};\
let low=99;for(const e of document.body.querySelectorAll('*')){if(![...e.childNodes].some(c=>c.nodeType===3&&c.data.trim())||e.tagName==='SCRIPT')continue;\
const a=l(getComputedStyle(e).color),b=l(back(e));low=Math.min(low,(Math.max(a,b)+0.05)/(Math.min(a,b)+0.05))}return low.toFixed(2)})()"

case_it_can_be_read() {
    local scheme value dark=false
    ask /status 500 >/dev/null # what is bad has a colour of its own
    for scheme in light dark; do
        browse "$scheme" 1280
        check_equal "$dark" "$(evaluate "matchMedia('(prefers-color-scheme:dark)').matches")" "the $scheme scheme"
        value=$(evaluate "$contrast")
        awk -v "value=$value" 'BEGIN { exit !(value >= 4.5 && value < 30) }' || fail "contrast $value in the $scheme scheme"
        dark=true
        leave
    done
}

# The last case: the server goes.
case_it_says_when_nobody_answers() {
    browse light 1280
    check_equal '' "$(evaluate "document.getElementById('lost').innerText")"
    runtime_stop
    wait_until lost
    check_match '/hello' "$(evaluate "document.querySelector('main').innerText")" 'what was shown'
    leave
}
lost() {
    [[ $(evaluate "document.getElementById('lost').innerText") == 'No answer since '* ]]
}

cases_run "$@"
