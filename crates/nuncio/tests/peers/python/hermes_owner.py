"""The owner of a Hermes, at its API server: `say SESSION TEXT`, `rows SESSION` and `sessions SOURCE`.

Prints JSON: the answer's text, the roles and texts of a session, or the ids of sessions.
"""

import json
import sys
import urllib.parse
import urllib.request

url, key, what, session, *text = sys.argv[1:]


def ask(path, body=None):
    headers = {"Authorization": f"Bearer {key}", "X-Hermes-Session-Id": session}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    request = urllib.request.Request(url + path, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


if what == "say":
    message = {"role": "user", "content": text[0]}
    whole = ask("/v1/chat/completions", {"model": "hermes-agent", "messages": [message]})
    print(json.dumps(whole["choices"][0]["message"]["content"]))
elif what == "sessions":
    found = ask(f"/api/sessions?limit=200&source={urllib.parse.quote(session)}")["data"]
    print(json.dumps([it["id"] for it in found]))
else:
    rows = ask(f"/api/sessions/{urllib.parse.quote(session, safe='')}/messages")["data"]
    print(json.dumps([[row["role"], row["content"]] for row in rows]))
