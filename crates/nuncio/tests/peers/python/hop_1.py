"""A hop of the integration walk with the official Python SDK 1.x, server and client at once.

Arguments: the one binding of its card (`jsonrpc`, `grpc`, `http_json`), and `no-streaming`. Prints its
port, and runs until it is killed.
"""

import asyncio
import socket
import sys
from contextlib import aclosing
from uuid import uuid4

import grpc
import httpx
import uvicorn

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_message_text, new_task_from_user_message, new_text_part
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a.types import a2a_pb2 as a2a
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette

import instruction as walks
from hop import Hop

BINDINGS = {'jsonrpc': 'JSONRPC', 'grpc': 'GRPC', 'http_json': 'HTTP+JSON'}
SECONDS = 30


class Executor(Hop):
    new_task = staticmethod(new_task_from_user_message)
    text_part = staticmethod(new_text_part)

    @staticmethod
    def file_of(message):
        part = message.parts[0]
        return part.media_type, part.filename, part.raw

    async def call(self, call):
        card = await A2ACardResolver(self.http, call.card_uri).get_agent_card()
        config = ClientConfig(
            streaming=call.streaming or call.behaviour == 'resubscribe',
            httpx_client=self.http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[BINDINGS[call.transport]],
        )
        async with ClientFactory(config).create(card) as client:
            if call.behaviour == 'resubscribe':
                return await resubscribe(client, request(call))
            texts = [text async for text in texts_of(client.send_message(request(call)))]
            return '\n'.join(texts)


async def resubscribe(client, message):
    async with aclosing(client.send_message(message)) as events:
        task = (await anext(events)).task.id
    async with aclosing(client.subscribe(a2a.SubscribeToTaskRequest(id=task))) as events:
        text = await walks.until_finished(texts_of(events))
    await client.cancel_task(a2a.CancelTaskRequest(id=task))
    return text


def request(call):
    part = a2a.Part(raw=call.instruction, filename=walks.FILE_NAME, media_type=walks.MEDIA_TYPE)
    message = a2a.Message(message_id=str(uuid4()), role=a2a.ROLE_USER, parts=[part])
    made = a2a.SendMessageRequest(message=message)
    if call.behaviour == 'push_notification':
        hook = made.configuration.task_push_notification_config
        hook.url, hook.token = f'{call.push_url}/notifications', walks.PUSH_TOKEN
    return made


async def texts_of(events):
    async for event in events:
        if event.HasField('message'):
            yield get_message_text(event.message)
            continue
        status = event.status_update.status if event.HasField('status_update') else event.task.status
        if status.state in (a2a.TASK_STATE_FAILED, a2a.TASK_STATE_REJECTED):
            raise RuntimeError(f'the next agent: {status}')
        if status.message.role == a2a.ROLE_AGENT:
            yield get_message_text(status.message)


def card(url, binding, streaming):
    return a2a.AgentCard(
        name='Python hop',
        description='Follows instructions',
        version='1.0.0',
        supported_interfaces=[
            a2a.AgentInterface(
                url=url, protocol_binding=BINDINGS[binding], protocol_version='1.0'
            )
        ],
        capabilities=a2a.AgentCapabilities(streaming=streaming, push_notifications=True),
        default_input_modes=[walks.MEDIA_TYPE],
        default_output_modes=['text/plain'],
        skills=[a2a.AgentSkill(id='walk', name='Walk', description='Walks', tags=['test'])],
    )


async def main(binding, *others):
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    calls = grpc.aio.server()
    urls = {'jsonrpc': f'http://127.0.0.1:{port}/rpc', 'http_json': f'http://127.0.0.1:{port}/rest'}
    urls['grpc'] = f'127.0.0.1:{calls.add_insecure_port("127.0.0.1:0")}'
    agent = card(urls[binding], binding, 'no-streaming' not in others)
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        hooks = InMemoryPushNotificationConfigStore()
        handler = DefaultRequestHandler(
            Executor(http),
            InMemoryTaskStore(),
            agent,
            push_config_store=hooks,
            push_sender=BasePushNotificationSender(http, hooks),
        )
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), calls)
        routes = create_agent_card_routes(agent) + create_jsonrpc_routes(handler, '/rpc')
        routes += create_rest_routes(handler, path_prefix='/rest')
        await calls.start()
        print(port, flush=True)
        config = uvicorn.Config(Starlette(routes=routes), log_level='warning')
        await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
