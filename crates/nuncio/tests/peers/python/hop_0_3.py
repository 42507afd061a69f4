"""A hop of the integration walk with the official Python SDK 0.3; takes the arguments of `hop_1.py` and
behaves as that does.
"""

import asyncio
import base64
import socket
import sys
from contextlib import aclosing
from uuid import uuid4

import grpc
import httpx
import uvicorn

from a2a import types as a2a
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a.utils import get_message_text, new_task

import instruction as walks
from hop import Hop

BINDINGS = {
    'jsonrpc': a2a.TransportProtocol.jsonrpc,
    'grpc': a2a.TransportProtocol.grpc,
    'http_json': a2a.TransportProtocol.http_json,
}
SECONDS = 30


class Executor(Hop):
    new_task = staticmethod(new_task)

    @staticmethod
    def text_part(text):
        return a2a.Part(root=a2a.TextPart(text=text))

    @staticmethod
    def file_of(message):
        file = message.parts[0].root.file
        return file.mime_type, file.name, base64.b64decode(file.bytes, validate=True)

    async def call(self, call):
        card = await A2ACardResolver(self.http, call.card_uri).get_agent_card()
        config = ClientConfig(
            streaming=call.streaming or call.behaviour == 'resubscribe',
            httpx_client=self.http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[BINDINGS[call.transport]],
        )
        if call.behaviour == 'push_notification':
            url = f'{call.push_url}/notifications'
            hook = a2a.PushNotificationConfig(url=url, token=walks.PUSH_TOKEN)
            config.push_notification_configs = [hook]
        client = ClientFactory(config).create(card)
        if call.behaviour == 'resubscribe':
            return await resubscribe(client, message(call))
        events = client.send_message(message(call))
        return '\n'.join([text async for text in texts_of(events)])


async def resubscribe(client, sent):
    async with aclosing(client.send_message(sent)) as events:
        task, _ = await anext(events)
    wanted = a2a.TaskIdParams(id=task.id)
    async with aclosing(client.resubscribe(wanted)) as events:
        text = await walks.until_finished(texts_of(events))
    await client.cancel_task(wanted)
    return text


def message(call):
    file = a2a.FileWithBytes(
        bytes=base64.b64encode(call.instruction).decode(),
        mime_type=walks.MEDIA_TYPE,
        name=walks.FILE_NAME,
    )
    part = a2a.Part(root=a2a.FilePart(file=file))
    return a2a.Message(message_id=str(uuid4()), role=a2a.Role.user, parts=[part])


async def texts_of(events):
    async for event in events:
        if isinstance(event, a2a.Message):
            yield get_message_text(event)
            continue
        task, update = event
        status = getattr(update, 'status', None) if update else task.status
        if status is None:
            continue
        if status.state in (a2a.TaskState.failed, a2a.TaskState.rejected):
            raise RuntimeError(f'the next agent: {status}')
        # Where a status has no message, the SDK makes an empty one of it over gRPC and REST.
        if status.message and status.message.role == a2a.Role.agent and status.message.parts:
            yield get_message_text(status.message)


def card(url, binding, streaming):
    return a2a.AgentCard(
        name='Python hop',
        description='Follows instructions',
        version='1.0.0',
        url=url,
        preferred_transport=BINDINGS[binding],
        capabilities=a2a.AgentCapabilities(streaming=streaming, push_notifications=True),
        default_input_modes=[walks.MEDIA_TYPE],
        default_output_modes=['text/plain'],
        skills=[a2a.AgentSkill(id='walk', name='Walk', description='Walks', tags=['test'])],
    )


async def main(binding, *others):
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    calls = grpc.aio.server()
    urls = {'jsonrpc': f'http://127.0.0.1:{port}/rpc', 'http_json': f'http://127.0.0.1:{port}'}
    urls['grpc'] = f'127.0.0.1:{calls.add_insecure_port("127.0.0.1:0")}'
    agent = card(urls[binding], binding, 'no-streaming' not in others)
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        hooks = InMemoryPushNotificationConfigStore()
        handler = DefaultRequestHandler(
            Executor(http),
            InMemoryTaskStore(),
            push_config_store=hooks,
            push_sender=BasePushNotificationSender(http, hooks),
        )
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(agent, handler), calls)
        if binding == 'http_json':
            app = A2ARESTFastAPIApplication(agent, handler).build()
        else:
            app = A2AStarletteApplication(agent, handler).build(rpc_url='/rpc')
        await calls.start()
        print(port, flush=True)
        config = uvicorn.Config(app, log_level='warning')
        await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
