#!/usr/bin/env python3
"""An agent in jsonl mode: one Message on standard input, one event per line of standard output."""

import json
import sys
import uuid

MOST = 1000


def emit(event):
    print(json.dumps(event), flush=True)


def status(state, text):
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_AGENT", "parts": [{"text": text}]}
    emit({"statusUpdate": {"status": {"state": "TASK_STATE_" + state, "message": message}}})


def count(last):
    status("WORKING", f"Counting to {last}")
    artifact_id = str(uuid.uuid4())
    for number in range(1, last + 1):
        artifact = {"artifactId": artifact_id, "parts": [{"text": f"{number} "}]}
        emit({"artifactUpdate": {
            "artifact": artifact, "append": number > 1, "lastChunk": number == last,
        }})
    status("COMPLETED", "Done.")


def main():
    message = json.loads(sys.stdin.readline())
    text = " ".join(part["text"] for part in message["parts"] if "text" in part)
    numbers = [int(word) for word in text.split() if word.isdecimal()]
    if not numbers:
        status("INPUT_REQUIRED", "How far shall I count?")
    elif not 1 <= numbers[0] <= MOST:
        status("REJECTED", f"I count to 1 at least and to {MOST} at most.")
    else:
        count(numbers[0])


main()
