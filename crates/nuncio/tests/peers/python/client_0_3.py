"""The official Python SDK 0.3 as a client of the gateway whose address is the first argument.

With `card-header` as second argument the card is asked for with `A2A-Version: 0.3`; without it the
gateway has to show a card for readers of 0.3 to everybody.
"""

import asyncio
import base64
import sys
from uuid import uuid4

import httpx

from a2a import types as a2a
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, A2AClientJSONRPCError

import notation
import scenario
import strict_0_3
from journal import Journal, complain


class Peer:
    """What the scenario needs, said in the SDK's own terms."""

    errors = (A2AClientError,)

    def __init__(self, url, card_headers):
        self.url = url
        self.card_headers = card_headers
        self.journal = Journal()
        self.http = httpx.AsyncClient(transport=self.journal, timeout=20)
        self.clients = {}

    async def resolve(self, agent):
        resolver = A2ACardResolver(self.http, f'{self.url}/agents/{agent}')
        return await resolver.get_agent_card(http_kwargs={'headers': self.card_headers})

    async def client(self, agent, streaming):
        if (agent, streaming) not in self.clients:
            config = ClientConfig(streaming=streaming, httpx_client=self.http)
            card = await self.resolve(agent)
            self.clients[agent, streaming] = ClientFactory(config).create(card)
        return self.clients[agent, streaming]

    async def card(self, agent):
        card = await self.resolve(agent)
        return {
            'name': card.name,
            'description': card.description,
            'interfaces': [[card.preferred_transport, card.protocol_version, card.url]],
            'streaming': card.capabilities.streaming,
            'skills': [skill.id for skill in card.skills],
            'modes': [card.default_input_modes, card.default_output_modes],
        }

    async def send(self, agent, text=None, wait=True, **how):
        client = await self.client(agent, streaming=False)
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

    def tell_error(self, error):
        if isinstance(error, A2AClientJSONRPCError):
            return {'code': error.error.code, 'message': error.error.message}
        # Of an error in place of a stream the SDK keeps only that it was no stream.
        sent = self.journal.exchanges[-1].documents()[0]['error']
        return {'code': sent['code'], 'message': sent['message']}

    def complaints(self):
        return complain(self.journal, strict_0_3.judge)

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
    asyncio.run(scenario.main(Peer(sys.argv[1], headers), skipped=[scenario.list_tasks]))
