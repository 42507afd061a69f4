"""Reads what nuncio sent in the 0.3 dialect with the models of the official SDK of that version.

The models ignore what they do not know; here each member that they did not take is a complaint.
"""

from a2a import types as a2a
from pydantic import ValidationError

from journal import differences

RESULTS = {
    'message/send': a2a.SendMessageResponse,
    'message/stream': a2a.SendStreamingMessageResponse,
    'tasks/resubscribe': a2a.SendStreamingMessageResponse,
    'tasks/get': a2a.GetTaskResponse,
    'tasks/cancel': a2a.CancelTaskResponse,
}


def judge(exchange, document):
    """What is wrong with one JSON document of an answer."""
    if exchange.status != 200:
        yield f'HTTP {exchange.status}'
    kind = exchange.headers.get('content-type')
    if kind not in ('application/json', 'text/event-stream'):
        yield f'content type {kind}'
    if exchange.request is None:
        yield from card(document)
        return
    if document.get('id') != exchange.request['id']:
        yield f'the id is {document.get("id")!r}, not {exchange.request["id"]!r}'
    yield from model(document, RESULTS[exchange.method])
    yield from kinds(document.get('result'))


def card(document):
    """A merged card: its 0.3 members are read, those of 1.0 stand beside them."""
    ours = {'supportedInterfaces', 'securityRequirements'}
    yield from model({k: v for k, v in document.items() if k not in ours}, a2a.AgentCard)


def model(sent, kind):
    try:
        read = kind.model_validate(sent)
    except ValidationError as problem:
        yield str(problem)
        return
    yield from differences(sent, read.model_dump(mode='json', by_alias=True, exclude_unset=True))


def kinds(value, at='result'):
    """The members that tell what an object is, which the models fill in where they are absent."""
    if isinstance(value, list):
        for index, it in enumerate(value):
            yield from kinds(it, f'{at}[{index}]')
    elif isinstance(value, dict):
        tellers = {'messageId': 'message', 'taskId': 'update', 'status': 'task'}
        for member, what in tellers.items():
            if member in value and 'kind' not in value:
                yield f'{at} is a {what} without kind'
                break
        for name in ('status', 'message', 'artifact', 'artifacts', 'history', 'parts'):
            yield from kinds(value.get(name), f'{at}.{name}')
        for part in value.get('parts', []):
            if 'kind' not in part:
                yield f'{at} has a part without kind'
