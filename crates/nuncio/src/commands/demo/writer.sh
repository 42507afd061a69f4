#!/bin/sh
# The demo's writer: asks the researcher over A2A, asks its own caller a question, then writes.
# It starts in the conversation's own directory, so that the second turn finds the first one's notes.
set -eu

message=$(cat)

if [ "$A2A_TURN" = first ]; then
    "$NUNCIO" send -a researcher "$message" >answer.txt
    grep '^- ' answer.txt >findings.txt
    printf '%s' "$message" >topic.txt
    printf '[INPUT_REQUIRED] The researcher answered with %s findings. Who is the text for?' \
        "$(wc -l <findings.txt | tr -d ' ')"
    exit 0
fi

printf 'For %s: "%s"\n\n' "$message" "$(cat topic.txt)"
printf 'The researcher found out three things about it:\n'
cat findings.txt
printf '\nThat is all there is to say.\n'
