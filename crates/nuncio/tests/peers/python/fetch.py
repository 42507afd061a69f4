"""Prints what an address answers with, as JSON."""

import json
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=60) as answer:
    print(json.dumps(answer.read().decode()))
