"""The official Python SDK 1.x as a client of the gateway whose address is the first argument.

With `older` as second argument it sees only the interfaces of 0.3 on a card, and speaks that; with
`grpc` or `rest` it speaks that binding to the agents whose cards it reads over HTTP. An argument
`NAME=URL` is another gateway, whose only way to the agent NAME that is.
"""

import asyncio
import base64
import sys
from uuid import uuid4

import grpc
import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf import json_format
from google.protobuf.unknown_fields import UnknownFieldSet

import notation
import scenario
import strict_1
from journal import Journal, complain


BINDINGS = {'grpc': 'GRPC', 'rest': 'HTTP+JSON'}


class Peer:
    """What the scenario needs, said in the SDK's own terms."""

    errors = (A2AError, A2AClientError)

    def __init__(self, url, others, older, binding):
        self.url = url
        self.others = others
        self.older = older
        self.settings = {
            'supported_protocol_bindings': [binding],
            'grpc_channel_factory': grpc.aio.insecure_channel,
        }
        # The REST client of the older version neither lists nor deletes.
        self.manages_hooks = not (older and binding == 'HTTP+JSON')
        self.posts = []
        self.journal = Journal()
        self.http = httpx.AsyncClient(transport=self.journal, timeout=20)
        self.clients = {}

    async def resolve(self, agent):
        url = self.others.get(agent, f'{self.url}/agents/{agent}')
        resolver = A2ACardResolver(self.http, url)
        card = await resolver.get_agent_card()
        if self.older:
            kept = [it for it in card.supported_interfaces if it.protocol_version == '0.3']
            del card.supported_interfaces[:]
            card.supported_interfaces.extend(kept)
        return card

    async def client(self, agent, streaming):
        if (agent, streaming) not in self.clients:
            config = ClientConfig(streaming=streaming, httpx_client=self.http, **self.settings)
            card = await self.resolve(agent)
            self.clients[agent, streaming] = ClientFactory(config).create(card)
        return self.clients[agent, streaming]

    async def card(self, agent):
        card = await self.resolve(agent)
        return {
            'name': card.name,
            'description': card.description,
            'interfaces': [
                [it.protocol_binding, it.protocol_version, it.url]
                for it in card.supported_interfaces
            ],
            'streaming': card.capabilities.streaming,
            'skills': [skill.id for skill in card.skills],
            'modes': [list(card.default_input_modes), list(card.default_output_modes)],
        }

    async def send(self, agent, text=None, **how):
        client = await self.client(agent, streaming=False)
        async for answer in client.send_message(request(text, **how)):
            if answer.HasField('task'):
                return tell_task(answer.task)
            return tell_event(answer)

    async def stream(self, agent, text, **how):
        client = await self.client(agent, streaming=True)
        async for event in client.send_message(request(text, **how)):
            yield tell_event(event)

    async def get(self, agent, task, history):
        wanted = a2a.GetTaskRequest(id=task)
        if history is not None:
            wanted.history_length = history
        client = await self.client(agent, streaming=False)
        return tell_task(await client.get_task(wanted))

    async def list(self, agent, context=None, state=None, size=None, token=None, artifacts=None):
        wanted = a2a.ListTasksRequest(context_id=context or '', page_token=token or '')
        if state:
            wanted.status = a2a.TaskState.Value(f'TASK_STATE_{state}')
        if size:
            wanted.page_size = size
        if artifacts:
            wanted.include_artifacts = True
        client = await self.client(agent, streaming=False)
        page = await client.list_tasks(wanted)
        watch(page)
        tasks = [tell_task(task) for task in page.tasks]
        return {'tasks': tasks, 'token': page.next_page_token, 'total': page.total_size}

    async def cancel(self, agent, task):
        client = await self.client(agent, streaming=False)
        return tell_task(await client.cancel_task(a2a.CancelTaskRequest(id=task)))

    async def subscribe(self, agent, task):
        client = await self.client(agent, streaming=True)
        async for event in client.subscribe(a2a.SubscribeToTaskRequest(id=task)):
            yield tell_event(event)

    async def set_hook(self, agent, task, url, token):
        hook = a2a.TaskPushNotificationConfig(task_id=task, url=url, token=token)
        client = await self.client(agent, streaming=False)
        return tell_hook(await client.create_task_push_notification_config(hook))

    async def get_hook(self, agent, task, hook):
        wanted = a2a.GetTaskPushNotificationConfigRequest(task_id=task, id=hook)
        client = await self.client(agent, streaming=False)
        return tell_hook(await client.get_task_push_notification_config(wanted))

    async def list_hooks(self, agent, task):
        wanted = a2a.ListTaskPushNotificationConfigsRequest(task_id=task)
        client = await self.client(agent, streaming=False)
        page = await client.list_task_push_notification_configs(wanted)
        watch(page)
        return [tell_hook(hook) for hook in page.configs]

    async def delete_hook(self, agent, task, hook):
        wanted = a2a.DeleteTaskPushNotificationConfigRequest(task_id=task, id=hook)
        client = await self.client(agent, streaming=False)
        await client.delete_task_push_notification_config(wanted)

    def tell_post(self, body):
        if self.older:
            return f'task {body["status"]["state"].upper()}'
        return tell_event(json_format.ParseDict(body, a2a.StreamResponse()))['line']

    def tell_error(self, error):
        return {'code': JSON_RPC_ERROR_CODE_MAP.get(type(error)), 'message': str(error)}

    def complaints(self):
        judge = strict_1.judge_envelope if self.older else strict_1.judge
        of_posts = [] if self.older else [strict_1.post(body) for body in self.posts]
        return complain(self.journal, judge) + UNKNOWN + [it for found in of_posts for it in found]

    async def close(self):
        for client in self.clients.values():
            await client.close()
        await self.http.aclose()


def request(text=None, parts=None, task=None, context=None, wait=True, hook=None):
    contents = [text] if parts is None else parts
    message = a2a.Message(
        message_id=str(uuid4()),
        role=a2a.ROLE_USER,
        parts=[make_part(it) for it in contents],
        task_id=task or '',
        context_id=context or '',
    )
    made = a2a.SendMessageRequest(message=message)
    made.configuration.return_immediately = not wait
    if hook:
        made.configuration.task_push_notification_config.url = hook
    return made


# Fields of messages that the SDK was sent and does not know, whatever binding they came by.
UNKNOWN = []


def watch(message):
    for field in UnknownFieldSet(message):
        UNKNOWN.append(f'{message.DESCRIPTOR.name} has an unknown field {field.field_number}')
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for it in value if field.is_repeated else [value]:
            watch(it)


def tell_hook(hook):
    watch(hook)
    return {'id': hook.id, 'task': hook.task_id, 'url': hook.url, 'token': hook.token}


def make_part(content):
    if isinstance(content, str):
        return a2a.Part(text=content)
    if isinstance(content, bytes):
        return a2a.Part(raw=content, filename='two.bin', media_type='application/octet-stream')
    part = a2a.Part()
    json_format.ParseDict(content, part.data)
    return part


def tell_part(part):
    if part.HasField('text'):
        return notation.text(part.text)
    if part.HasField('data'):
        return notation.data(json_format.MessageToDict(part.data))
    if part.HasField('raw'):
        encoded = base64.b64encode(part.raw).decode()
        return notation.file(part.filename, part.media_type, encoded)
    return notation.link(part.filename, part.media_type, part.url)


def tell_parts(message):
    return [tell_part(part) for part in message.parts]


def tell_state(status):
    return a2a.TaskState.Name(status.state).removeprefix('TASK_STATE_')


def tell_task(task):
    watch(task)
    return {
        'id': task.id,
        'context': task.context_id,
        'line': f'task {tell_state(task.status)}',
        'says': tell_parts(task.status.message),
        'artifacts': [notation.artifact(it.name, tell_parts(it)) for it in task.artifacts],
        'history': [
            f'{a2a.Role.Name(it.role).removeprefix("ROLE_").lower()} {"; ".join(tell_parts(it))}'
            for it in task.history
        ],
    }


def tell_event(event):
    watch(event)
    if event.HasField('task'):
        return {**tell_task(event.task), 'task': event.task.id}
    if event.HasField('message'):
        message = event.message
        line = f'message {"; ".join(tell_parts(message))}'
        return {'line': line, 'task': message.task_id, 'context': message.context_id}
    if event.HasField('status_update'):
        update = event.status_update
        line = notation.status(tell_state(update.status), tell_parts(update.status.message))
    else:
        update = event.artifact_update
        made = update.artifact
        line = notation.artifact(made.name, tell_parts(made), update.append, update.last_chunk)
        text = ''.join(part.text for part in made.parts)
        return {'line': line, 'text': text, 'task': update.task_id, 'context': update.context_id}
    return {'line': line, 'task': update.task_id, 'context': update.context_id}


if __name__ == '__main__':
    older = 'older' in sys.argv[2:]
    skipped = [scenario.list_tasks] if older else []
    named = [BINDINGS[name] for name in sys.argv[2:] if name in BINDINGS]
    others = dict(it.split('=', 1) for it in sys.argv[2:] if '=' in it)
    peer = Peer(sys.argv[1], others, older, (named or ['JSONRPC'])[0])
    asyncio.run(scenario.main(peer, skipped))
