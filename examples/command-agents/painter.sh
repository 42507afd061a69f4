#!/bin/sh
# Asks back. The answer to the question starts the program again, with A2A_TURN=continue; with
# `context_dir = true` it runs in the conversation's own directory and can remember.
set -eu
text=$(cat)
if [ "$A2A_TURN" = first ]; then
    printf '%s' "$text" > thing
    echo "[INPUT_REQUIRED] Which colour shall I paint $text?"
else
    echo "Painted $(cat thing) in $text."
fi
