"""How events and tasks are told to the test: the same words for every SDK and every dialect.

    task STATE
    status STATE "what its message says"
    artifact NAME PARTS      `+` after the name: appended; `.` after the name: the last chunk
    message PARTS

Parts: `"text"`, `data JSON`, `file NAME TYPE BASE64`, `link NAME TYPE URL`; a long text is told by
its length and its hash.
"""

import hashlib
import json

LONG_CHARACTERS = 1000


def text(value):
    if len(value) > LONG_CHARACTERS:
        return f'{len(value)} characters {hashlib.sha256(value.encode()).hexdigest()}'
    return json.dumps(value, ensure_ascii=False)


def data(value):
    return 'data ' + json.dumps(plain(value), ensure_ascii=False, sort_keys=True)


def file(name, media_type, base64):
    return f'file {name or "-"} {media_type or "-"} {base64}'


def link(name, media_type, url):
    return f'link {name or "-"} {media_type or "-"} {url}'


def artifact(name, parts, append=False, last=False):
    flags = ('+' if append else '') + ('.' if last else '')
    return f'artifact {name or "-"}{flags} {"; ".join(parts)}'


def status(state, said):
    return f'status {state}' + (f' {"; ".join(said)}' if said else '')


def plain(value):
    """Numbers as people write them: the protocol buffers make doubles of all."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: plain(it) for name, it in value.items()}
    if isinstance(value, list):
        return [plain(it) for it in value]
    return value
