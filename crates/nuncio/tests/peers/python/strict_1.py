"""Reads what nuncio sent as strictly as the official protocol buffers of A2A 1.0 can be read."""

from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf import any_pb2, json_format
from google.rpc import error_details_pb2  # noqa: F401: puts its types where `Any` finds them

from journal import differences

RESULTS = {
    'SendMessage': a2a.SendMessageResponse,
    'SendStreamingMessage': a2a.StreamResponse,
    'SubscribeToTask': a2a.StreamResponse,
    'GetTask': a2a.Task,
    'CancelTask': a2a.Task,
    'ListTasks': a2a.ListTasksResponse,
}

PAGE = {'tasks', 'nextPageToken', 'pageSize', 'totalSize'}


def judge(exchange, document):
    """What is wrong with one JSON document of an answer."""
    yield from headers(exchange)
    yield from judge_envelope(exchange, document)
    if exchange.request is None:
        yield from message(document, a2a.AgentCard())
    elif 'error' in document:
        yield from error(document['error'])
    elif 'result' in document:
        yield from message(document['result'], RESULTS[exchange.method]())
    if exchange.method == 'ListTasks' and document.get('result', {}).keys() != PAGE:
        yield 'a page lacks one of its members, which are all required'


def judge_envelope(exchange, document):
    """What is wrong outside of the result."""
    if exchange.request is None:
        return
    expected = {'jsonrpc', 'id', 'error' if 'error' in document else 'result'}
    if document.keys() != expected or document['jsonrpc'] != '2.0':
        yield f'the envelope has {sorted(document)}'
    if document.get('id') != exchange.request['id']:
        yield f'the id is {document.get("id")!r}, not {exchange.request["id"]!r}'


def headers(exchange):
    if exchange.status != 200:
        yield f'HTTP {exchange.status}'
    kind = exchange.headers.get('content-type')
    if kind not in ('application/json', 'text/event-stream'):
        yield f'content type {kind}'
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
