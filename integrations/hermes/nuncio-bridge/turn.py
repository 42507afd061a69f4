"""One message on its way through Hermes: what was asked, what Hermes tells of it, how it ended.

Never talks to Hermes and never waits; `bridge.py` does.
"""

import asyncio
import re
import uuid

# The platform that chats of nuncio's own belong to.
PLATFORM = "nuncio"
# Longest turn, in seconds, whatever is asked for: a day.
MAX_TURN_SECONDS = 86400.0
DEFAULT_TURN_SECONDS = 600.0
# Characters of a name that a message is shown with.
MAX_PEER_CHARS = 100
# Hermes would read files and addresses that a message names like this.
REFERENCE = re.compile(r"(?<![\w/])@(?=(?:diff|staged|file|folder|git|url)\b)", re.IGNORECASE)
# What keeps such a name from being one: a space without width.
HARMLESS = "@\u200b"


class Refused(Exception):
    """A request that is not taken: its HTTP status, and the reason in words."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def word(body, key):
    value = body.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Refused(400, f"`{key}` must be a text that is not empty")
    return value


class Asked:
    """What a request for a turn says, checked."""

    def __init__(self, body):
        if not isinstance(body, dict):
            raise Refused(400, "the body must be a JSON object")
        self.id = str(body.get("id") or uuid.uuid4().hex)
        self.peer = " ".join(word(body, "peer").split())[:MAX_PEER_CHARS]
        self.text = word(body, "text")
        self.about = word(body, "about") if body.get("about") else None
        # What was said before, for a chat that Hermes knows nothing of any more.
        self.recall = word(body, "recall") if body.get("recall") else None
        self.seconds = self.limit(body.get("timeout", DEFAULT_TURN_SECONDS))
        self.is_live = body.get("session") is not None
        if not self.is_live:
            self.platform, self.kind, self.chat = PLATFORM, "dm", word(body, "chat")
            return
        parts = word(body, "session").split(":", 2)
        if len(parts) != 3 or not all(parts):
            raise Refused(400, "`session` must be PLATFORM:TYPE:CHAT")
        self.platform, self.kind, self.chat = parts

    @staticmethod
    def limit(seconds):
        is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if not is_number or not 0 < seconds <= MAX_TURN_SECONDS:
            most = f"{MAX_TURN_SECONDS:.0f}"
            raise Refused(400, f"`timeout` must be a number of seconds above 0, at most {most}")
        return float(seconds)


class Turn:
    """A message and what became of it."""

    def __init__(self, asked, source, key):
        self.asked = asked
        self.source = source
        # What Hermes calls the chat's session.
        self.key = key
        # By this the message is known again wherever Hermes shows it.
        self.mark = f"#{uuid.uuid4().hex[:12]}"
        self.is_handed_over = False
        # Hermes' own names of the run that answers, and of the sessions it is in.
        self.run = None
        self.sessions = set()
        self.answer = None
        self.is_complete = False
        self.is_interrupted = False
        # Somebody else's message is answered in its place now.
        self.is_replaced = False
        self.last_words = ""
        # Set with state and text: what the one who asked is told.
        self.over = asyncio.get_running_loop().create_future()
        # Set when Hermes is done with it.
        self.left = asyncio.Event()

    def message(self):
        """The text for Hermes: it begins with a line of ours, so that it is no command."""
        text = REFERENCE.sub(HARMLESS, self.asked.text)
        return f"[A2A message {self.mark} from {self.asked.peer}]\n{text}"

    def is_running(self):
        """Whether Hermes is at work on it, as far as it told."""
        return self.run is not None and not self.has_ended()

    def has_ended(self):
        return self.is_complete or self.is_interrupted or self.is_replaced or self.left.is_set()

    def end(self, state, text=""):
        if not self.over.done():
            self.over.set_result((state, text))

    def conclude(self):
        """Ends it with what Hermes told of it. A text alone is no answer: failures are texts, too."""
        if self.is_complete and self.answer is not None:
            self.end("completed", self.answer)
        elif self.is_interrupted:
            self.end("interrupted")
        else:
            self.end("failed", self.last_words)
