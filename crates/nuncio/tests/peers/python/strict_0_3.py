"""Reads what nuncio sent in the 0.3 dialect with the models of the official SDK of that version.

The models ignore what they do not know; here each member that they did not take is a complaint.
"""

from a2a import types as a2a
from a2a.grpc import a2a_pb2 as pb
from google.protobuf import json_format
from pydantic import ValidationError

from journal import differences

RESULTS = {
    'message/send': a2a.SendMessageResponse,
    'message/stream': a2a.SendStreamingMessageResponse,
    'tasks/resubscribe': a2a.SendStreamingMessageResponse,
    'tasks/get': a2a.GetTaskResponse,
    'tasks/cancel': a2a.CancelTaskResponse,
    'tasks/pushNotificationConfig/set': a2a.SetTaskPushNotificationConfigResponse,
    'tasks/pushNotificationConfig/get': a2a.GetTaskPushNotificationConfigResponse,
}

# What is answered over REST, which is the JSON of the protocol buffers: the last that fits.
PATHS = [
    ('POST', r'/v1/message:send', pb.SendMessageResponse),
    ('POST', r'/v1/message:stream', pb.StreamResponse),
    ('GET', r'/v1/tasks/[^/]+', pb.Task),
    ('POST', r'/v1/tasks/[^/]+:cancel', pb.Task),
    ('(GET|POST)', r'/v1/tasks/[^/]+:subscribe', pb.StreamResponse),
    ('POST', r'/v1/tasks/[^/]+/pushNotificationConfigs', pb.TaskPushNotificationConfig),
    ('GET', r'/v1/tasks/[^/]+/pushNotificationConfigs/[^/]+', pb.TaskPushNotificationConfig),
]


def judge(exchange, document):
    """What is wrong with one JSON document of an answer."""
    yield from exchange.strange_head()
    if exchange.is_card:
        yield from card(document)
        return
    if not exchange.is_rpc:
        yield from rest(exchange, document)
        return
    if document.get('id') != exchange.request['id']:
        yield f'the id is {document.get("id")!r}, not {exchange.request["id"]!r}'
    yield from model(document, RESULTS[exchange.method])
    yield from kinds(document.get('result'))


def rest(exchange, document):
    """An answer over REST: an error has besides the members of 1.0 those that readers of 0.3 know."""
    if exchange.status != 200:
        if document.keys() != {'error', 'type', 'message', 'code'}:
            yield f'the error has {sorted(document)}'
        return
    empty = exchange.fitting(PATHS)()
    try:
        read = json_format.ParseDict(document, empty, ignore_unknown_fields=False)
    except json_format.ParseError as problem:
        yield str(problem)
        return
    yield from differences(document, json_format.MessageToDict(read))


def post(body):
    """What is wrong with the body of a push, which is a task."""
    yield from model(body, a2a.Task)
    yield from kinds({'task': body})


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
            if member in value and not {'kind', 'pushNotificationConfig'} & value.keys():
                yield f'{at} is a {what} without kind'
                break
        for name in ('task', 'status', 'message', 'artifact', 'artifacts', 'history', 'parts'):
            yield from kinds(value.get(name), f'{at}.{name}')
        for part in value.get('parts', []):
            if 'kind' not in part:
                yield f'{at} has a part without kind'
