# shellcheck shell=bash disable=SC2034 # what is set here is used by the scripts that source it
# common.sh: what the targets share. A target is a script that starts what is measured, tells millbench where its pages are, and
# stops it. Sourced, never run. bench/README.md says how to write one.
#
# Environment, set by millbench: MILLBENCH_STATE, a folder of the target's own that every user may enter; MILLBENCH_PORT, the
# first of eight ports; MILLBENCH_PAGES, a folder with WORKLOAD.body, what the page must be; BUILD. What a target starts keeps the CPUs that millbench gave it.
#
# On standard output, a line each:
#   group NAME PID                a process that, with all its descendants, is accounted under that name
#   url PATH WORKLOAD URL         where a page is; PATH is static, proxied, direct or peer
#   expect PATH WORKLOAD FILE     the right body; a folder's files are several right bodies
#   fact NAME VALUE               what the report should tell of it (workers=1, access log=off)

# shellcheck source=runtime/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../runtime/environment.sh"
export LC_ALL=C

program=target/$(basename "$0")
# The same target of another revision, which `millbench gate` has built: its servers, its scripts, its configurations.
if [[ $program == *-base ]]; then
    root=${MILLBENCH_BASE:?$program is started by millbench gate, which builds the base} build=$root/build
    export BUILD=$build
fi
target_state=${MILLBENCH_STATE:?a target is started by millbench run, or with MILLBENCH_STATE, a folder}
target_port=${MILLBENCH_PORT:?a target is started by millbench run, or with MILLBENCH_PORT, the first of eight ports}
export MILLRACE_STATE=$target_state/stack MILLRACE_PORT=$target_port
state=$MILLRACE_STATE port=$MILLRACE_PORT

pages_with_twins() { # workload file
    cat <<END
hello hello.html
bighello bighello.html
database database.html
fortune fortune-middle.html
page8k page8k.html
gif gif.gif
END
}

# Every page that /fortune may answer, a file each: all records of its files, made here anew and independently of the
# application, around which one of its answers gives the frame.
write_fortunes() { # answer folder
    local frame=$1 folder=$2 files
    rm -rf "$folder"
    mkdir -p "$folder"
    read -ra files < <(sed -n 's/.*files = "\(.*\)".*/\1/p' "$root/apps/fortune.conf")
    awk -v frame="$frame" -v folder="$folder" '
        BEGIN {
            while ((getline line < frame) > 0) {
                head = head line "\n"
                if (line == "<pre>") break
            }
            foot = "</pre>\n</body>\n</html>\n"
        }
        function escaped(text) {
            gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
            gsub(/"/, "\\&quot;", text); gsub(/\047/, "\\&#39;", text)
            return text
        }
        function finish(    file) {
            sub(/\n$/, "", record)
            if (record != "") {
                file = sprintf("%s/%05d", folder, ++count)
                printf "%s%s%s", head, escaped(record), foot > file
                close(file)
            }
            record = ""
        }
        FNR == 1 { finish() }
        $0 == "%" { finish(); next }
        { record = record $0 "\n" }
        END { finish() }' "${files[@]}"
}

target_main() { # start|stop CONFIGURATION: calls start_target or stop_target
    case ${1:-} in
    start) [ $# = 2 ] || fail "usage: $program start CONFIGURATION" 2; start_target "$2" ;;
    stop) stop_target ;;
    *) fail "usage: $program {start CONFIGURATION|stop}" 2 ;;
    esac
}
