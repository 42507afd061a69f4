#!/bin/sh
# The demo's researcher: a topic on standard input, one finding a line on standard output.
# Each line goes to the caller as soon as it is written.
set -eu

topic=$(cat)
words=$(printf '%s\n' "$topic" | wc -w | tr -d ' ')
letters=$(printf '%s' "$topic" | tr -cd '[:alpha:]' | wc -c | tr -d ' ')
longest=$(printf '%s\n' "$topic" | tr -cs '[:alnum:]' '\n' |
    awk '{ if (length($0) > length(l)) l = $0 } END { print l }')

pause() { sleep 0.2 2>/dev/null || sleep 1; }

printf 'Findings on "%s":\n' "$topic"
pause
printf -- '- it has %s words and %s letters\n' "$words" "$letters"
pause
printf -- '- its longest word is "%s"\n' "$longest"
pause
printf -- '- it was looked at for %s\n' "$A2A_CALLER"
