"""The person in the chat of `hermes_chat`: `say TEXT` writes, `hear TEXT` waits until that was written.

Prints what was heard as JSON: everything up to what was waited for.
"""

import json
import sys
import urllib.request

LIMIT = 20

url, what, text = sys.argv[1:]
if what == "say":
    request = urllib.request.Request(url + "/say", text.encode(), {"Content-Type": "text/plain"})
    urllib.request.urlopen(request, timeout=LIMIT).read()
heard = []
while what == "hear" and not (heard and text in heard[-1]):
    try:
        with urllib.request.urlopen(url + "/said", timeout=LIMIT) as answer:
            heard.append(answer.read().decode())
    except TimeoutError:
        sys.exit(f"waited for {text!r}, heard {heard}")
print(json.dumps(heard))
