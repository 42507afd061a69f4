"""What came in over A2A, counted, and what nuncio says of itself where it was given an address.

Knows no turn and nothing of what was said in one.
"""

import asyncio
import os
import time
import urllib.request
from collections import Counter

# How long nuncio may take, in seconds, and how much of what it says is shown, in bytes.
ASK_SECONDS = 5
MAX_SHOWN_BYTES = 8 * 1024
STATES = ("completed", "failed", "interrupted", "canceled", "timeout", "busy")


class Counts:
    def __init__(self):
        self.since = time.monotonic()
        self.received = 0
        self.ended = Counter()
        self.address = ""
        self.token = ""

    def configure(self, extra):
        self.address = str(extra.get("metrics_url") or os.environ.get("NUNCIO_METRICS_URL", ""))
        self.token = os.environ.get("NUNCIO_METRICS_TOKEN", "")

    async def show(self, _arguments=""):
        """The answer to `/a2a_metrics`."""
        minutes = int(time.monotonic() - self.since) // 60
        ended = [f"{state}: {self.ended[state]}" for state in STATES if self.ended[state]]
        under_way = self.received - self.ended.total()
        lines = [
            "A2A messages to this Hermes",
            f"since: {minutes // 60} h {minutes % 60} min",
            f"received: {self.received}",
            *ended,
            f"under way: {under_way}",
        ]
        if self.address:
            lines += ["", f"nuncio at {self.address}", await asyncio.to_thread(self.ask)]
        return "\n".join(lines)

    def ask(self):
        try:
            request = urllib.request.Request(self.address)
            if self.token:
                request.add_header("Authorization", f"Bearer {self.token}")
            # No proxy of the environment comes between this and a neighbour.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request, timeout=ASK_SECONDS) as answer:
                text = answer.read(MAX_SHOWN_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            return f"does not answer: {error}"
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return "\n".join(lines) or "says nothing."
