"""Reads what nuncio sent as strictly as the official protocol buffers of A2A 1.0 can be read."""

from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf import any_pb2, empty_pb2, json_format
from google.rpc import error_details_pb2  # noqa: F401: puts its types where `Any` finds them

from journal import differences

HOOKS = a2a.ListTaskPushNotificationConfigsResponse

RESULTS = {
    'SendMessage': a2a.SendMessageResponse,
    'SendStreamingMessage': a2a.StreamResponse,
    'SubscribeToTask': a2a.StreamResponse,
    'GetTask': a2a.Task,
    'CancelTask': a2a.Task,
    'ListTasks': a2a.ListTasksResponse,
    'CreateTaskPushNotificationConfig': a2a.TaskPushNotificationConfig,
    'GetTaskPushNotificationConfig': a2a.TaskPushNotificationConfig,
    'ListTaskPushNotificationConfigs': HOOKS,
    'DeleteTaskPushNotificationConfig': empty_pb2.Empty,
}

# What is answered over HTTP+JSON: the last of these that fits verb and path.
PATHS = [
    ('POST', r'/message:send', a2a.SendMessageResponse),
    ('POST', r'/message:stream', a2a.StreamResponse),
    ('GET', r'/tasks', a2a.ListTasksResponse),
    ('GET', r'/tasks/[^/]+', a2a.Task),
    ('POST', r'/tasks/[^/]+:cancel', a2a.Task),
    ('(GET|POST)', r'/tasks/[^/]+:subscribe', a2a.StreamResponse),
    ('POST', r'/tasks/[^/]+/pushNotificationConfigs', a2a.TaskPushNotificationConfig),
    ('GET', r'/tasks/[^/]+/pushNotificationConfigs', HOOKS),
    ('GET', r'/tasks/[^/]+/pushNotificationConfigs/[^/]+', a2a.TaskPushNotificationConfig),
    ('DELETE', r'/tasks/[^/]+/pushNotificationConfigs/[^/]+', empty_pb2.Empty),
]

PAGE = {'tasks', 'nextPageToken', 'pageSize', 'totalSize'}


def judge(exchange, document):
    """What is wrong with one JSON document of an answer."""
    yield from headers(exchange)
    yield from judge_envelope(exchange, document)
    if exchange.is_card:
        yield from message(document, a2a.AgentCard())
    elif not exchange.is_rpc:
        yield from rest(exchange, document)
    elif 'error' in document:
        yield from error(document['error'])
    elif 'result' in document:
        yield from result(document['result'], RESULTS[exchange.method])


def judge_envelope(exchange, document):
    """What is wrong outside of the result."""
    if not exchange.is_rpc:
        return
    expected = {'jsonrpc', 'id', 'error' if 'error' in document else 'result'}
    if document.keys() != expected or document['jsonrpc'] != '2.0':
        yield f'the envelope has {sorted(document)}'
    if document.get('id') != exchange.request['id']:
        yield f'the id is {document.get("id")!r}, not {exchange.request["id"]!r}'


def rest(exchange, document):
    """What is wrong with an answer over HTTP+JSON, which is the message itself or `error`."""
    if exchange.status == 200:
        yield from result(document, exchange.fitting(PATHS))
        return
    status = document['error']
    if document.keys() != {'error'} or status.keys() != {'code', 'status', 'message', 'details'}:
        yield f'the error has {sorted(document)}, {sorted(status)}'
    if status['code'] != exchange.status:
        yield f'the error says {status["code"]}, the head {exchange.status}'
    for detail in status['details']:
        yield from message(detail, any_pb2.Any())


def result(sent, kind):
    yield from message(sent, kind())
    if kind is a2a.ListTasksResponse and sent.keys() != PAGE:
        yield 'a page lacks one of its members, which are all required'


def post(body):
    """What is wrong with the body of a push, which is an event."""
    yield from message(body, a2a.StreamResponse())


def headers(exchange):
    yield from exchange.strange_head()
    version = exchange.headers.get('a2a-version')
    if version != '1.0':
        yield f'A2A-Version {version}'


def message(sent, empty):
    """Unknown, misspelt, missing and doubtful members."""
    try:
        read = json_format.ParseDict(sent, empty, ignore_unknown_fields=False)
        # The SDK's check takes the empty values of a page, which are required, as absent.
        if not isinstance(read, a2a.ListTasksResponse):
            validate_proto_required_fields(read)
    except (json_format.ParseError, A2AError) as problem:
        yield f'{type(problem).__name__} {problem} {getattr(problem, "data", "")}'
        return
    yield from differences(sent, json_format.MessageToDict(read))


def error(sent):
    if not {'code', 'message'} <= sent.keys() <= {'code', 'message', 'data'}:
        yield f'the error has {sorted(sent)}'
    if sent['code'] > -32000 and not sent.get('data'):
        yield 'the error has no details'
    for detail in sent.get('data', []):
        yield from message(detail, any_pb2.Any())
