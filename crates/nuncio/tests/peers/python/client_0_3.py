"""The official Python SDK 0.3 as a client of the gateway whose address is the first argument.

With `card-header` among the others the card is asked for with `A2A-Version: 0.3`; without it the
gateway has to show a card for readers of 0.3 to everybody. With `grpc` or `rest` it speaks that
binding. An argument `NAME=URL` is another gateway, whose only way to the agent NAME that is.
"""

import asyncio
import base64
import sys
from uuid import uuid4

import grpc
import httpx

from a2a import types as a2a
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, A2AClientJSONRPCError

import notation
import scenario
import strict_0_3
from journal import Journal, complain


BINDINGS = {'grpc': a2a.TransportProtocol.grpc, 'rest': a2a.TransportProtocol.http_json}

# The errors of the protocol, as gRPC names them.
CODES = {
    'TaskNotFoundError': -32001,
    'TaskNotCancelableError': -32002,
    'UnsupportedOperationError': -32004,
    'InvalidParamsError': -32602,
}


class Peer:
    """What the scenario needs, said in the SDK's own terms."""

    errors = (A2AClientError, grpc.aio.AioRpcError)
    manages_hooks = False

    def __init__(self, url, others, binding, card_headers):
        self.url = url
        self.others = others
        self.settings = {
            'supported_transports': [binding],
            'grpc_channel_factory': grpc.aio.insecure_channel,
            'use_client_preference': True,
        }
        self.card_headers = card_headers
        self.posts = []
        self.journal = Journal()
        self.http = httpx.AsyncClient(transport=self.journal, timeout=20)
        self.clients = {}

    async def resolve(self, agent):
        url = self.others.get(agent, f'{self.url}/agents/{agent}')
        resolver = A2ACardResolver(self.http, url)
        return await resolver.get_agent_card(http_kwargs={'headers': self.card_headers})

    async def client(self, agent, streaming, hook=None):
        key = (agent, streaming, hook)
        if key not in self.clients:
            # Over gRPC and REST the SDK takes webhooks from here alone.
            hooks = [a2a.PushNotificationConfig(url=hook)] if hook else []
            config = ClientConfig(
                streaming=streaming,
                httpx_client=self.http,
                push_notification_configs=hooks,
                **self.settings,
            )
            self.clients[key] = ClientFactory(config).create(await self.resolve(agent))
        return self.clients[key]

    async def card(self, agent):
        card = await self.resolve(agent)
        return {
            'name': card.name,
            'description': card.description,
            'interfaces': [
                [it.transport, card.protocol_version, it.url]
                for it in card.additional_interfaces or []
            ],
            'streaming': card.capabilities.streaming,
            'skills': [skill.id for skill in card.skills],
            'modes': [card.default_input_modes, card.default_output_modes],
        }

    async def send(self, agent, text=None, wait=True, hook=None, **how):
        client = await self.client(agent, streaming=False, hook=hook)
        configuration = a2a.MessageSendConfiguration(blocking=wait)
        async for answer in client.send_message(
            message(text, **how), configuration=configuration
        ):
            return tell_event(answer) if isinstance(answer, a2a.Message) else tell_task(answer[0])

    async def stream(self, agent, text, **how):
        client = await self.client(agent, streaming=True)
        async for event in client.send_message(message(text, **how)):
            yield tell_event(event)

    async def get(self, agent, task, history):
        client = await self.client(agent, streaming=False)
        wanted = a2a.TaskQueryParams(id=task, history_length=history)
        return tell_task(await client.get_task(wanted))

    async def cancel(self, agent, task):
        client = await self.client(agent, streaming=False)
        return tell_task(await client.cancel_task(a2a.TaskIdParams(id=task)))

    async def subscribe(self, agent, task):
        client = await self.client(agent, streaming=True)
        async for event in client.resubscribe(a2a.TaskIdParams(id=task)):
            yield tell_event(event)

    async def set_hook(self, agent, task, url, token):
        # Over gRPC and REST the SDK takes no configuration without an id.
        hook = a2a.PushNotificationConfig(id='a-hook', url=url, token=token)
        client = await self.client(agent, streaming=False)
        sent = a2a.TaskPushNotificationConfig(task_id=task, push_notification_config=hook)
        return tell_hook(await client.set_task_callback(sent))

    async def get_hook(self, agent, task, hook):
        wanted = a2a.GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=hook)
        client = await self.client(agent, streaming=False)
        return tell_hook(await client.get_task_callback(wanted))

    def tell_post(self, body):
        return tell_task(a2a.Task.model_validate(body))['line']

    def tell_error(self, error):
        if isinstance(error, A2AClientJSONRPCError):
            return {'code': error.error.code, 'message': error.error.message}
        if isinstance(error, grpc.aio.AioRpcError):
            name, _, message = error.details().partition(': ')
            return {'code': CODES.get(name), 'message': message}
        # Of an error in place of a stream, and of those of REST, the SDK keeps only that there was one.
        sent = self.journal.exchanges[-1].documents()[0]
        error = sent['error']
        return {'code': sent.get('code', error['code']), 'message': error['message']}

    def complaints(self):
        of_posts = [it for body in self.posts for it in strict_0_3.post(body)]
        return complain(self.journal, strict_0_3.judge) + of_posts

    async def close(self):
        await self.http.aclose()


def message(text=None, parts=None, task=None, context=None):
    contents = [text] if parts is None else parts
    return a2a.Message(
        message_id=str(uuid4()),
        role=a2a.Role.user,
        parts=[a2a.Part(root=make_part(it)) for it in contents],
        task_id=task,
        context_id=context,
    )


def tell_hook(hook):
    config = hook.push_notification_config
    return {'id': config.id, 'task': hook.task_id, 'url': config.url, 'token': config.token or ''}


def make_part(content):
    if isinstance(content, str):
        return a2a.TextPart(text=content)
    if isinstance(content, bytes):
        encoded = base64.b64encode(content).decode()
        file = a2a.FileWithBytes(
            bytes=encoded, name='two.bin', mime_type='application/octet-stream'
        )
        return a2a.FilePart(file=file)
    return a2a.DataPart(data=content)


def tell_part(part):
    part = part.root
    if isinstance(part, a2a.TextPart):
        return notation.text(part.text)
    if isinstance(part, a2a.DataPart):
        return notation.data(part.data)
    file = part.file
    if isinstance(file, a2a.FileWithBytes):
        return notation.file(file.name, file.mime_type, file.bytes)
    return notation.link(file.name, file.mime_type, file.uri)


def tell_parts(message):
    return [tell_part(part) for part in message.parts] if message else []


def tell_state(status):
    return status.state.value.upper().replace('-', '_')


def tell_task(task):
    return {
        'id': task.id,
        'context': task.context_id,
        'line': f'task {tell_state(task.status)}',
        'says': tell_parts(task.status.message),
        'artifacts': [notation.artifact(it.name, tell_parts(it)) for it in task.artifacts or []],
        'history': [f'{it.role.value} {"; ".join(tell_parts(it))}' for it in task.history or []],
    }


def tell_event(event):
    if isinstance(event, a2a.Message):
        line = f'message {"; ".join(tell_parts(event))}'
        return {'line': line, 'task': event.task_id or '', 'context': event.context_id}
    task, update = event
    if update is None:
        return {**tell_task(task), 'task': task.id}
    if isinstance(update, a2a.TaskStatusUpdateEvent):
        line = notation.status(tell_state(update.status), tell_parts(update.status.message))
    else:
        made = update.artifact
        line = notation.artifact(made.name, tell_parts(made), update.append, update.last_chunk)
        text = ''.join(getattr(part.root, 'text', '') for part in made.parts)
        return {'line': line, 'text': text, 'task': update.task_id, 'context': update.context_id}
    return {'line': line, 'task': update.task_id, 'context': update.context_id}


if __name__ == '__main__':
    headers = {'A2A-Version': '0.3'} if 'card-header' in sys.argv[2:] else {}
    named = [BINDINGS[name] for name in sys.argv[2:] if name in BINDINGS]
    others = dict(it.split('=', 1) for it in sys.argv[2:] if '=' in it)
    binding = (named or [a2a.TransportProtocol.jsonrpc])[0]
    peer = Peer(sys.argv[1], others, binding, headers)
    asyncio.run(scenario.main(peer, skipped=[scenario.list_tasks]))
