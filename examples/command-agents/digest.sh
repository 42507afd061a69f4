#!/bin/sh
# Takes files and gives one. A2A_FILES has a path per line, in the order of the message's parts.
set -eu
if [ -z "$A2A_FILES" ]; then
    echo "no file came with the message" >&2
    exit 2
fi
cd "$A2A_FILES_DIR"
sha256sum -- * | tee "$A2A_OUTPUT_DIR/SHA256SUMS.txt"
