"""An agent with the official Python SDK 1.x; prints its port, and runs until it is killed.

With `no-streaming` as argument its card says that it cannot stream; with `both` it speaks 0.3 too,
by the compatibility of the SDK; with `grpc` it speaks gRPC, and HTTP only for its card; with `rest`
it speaks REST. The first text of a task says what it does: `report`, `ask`, `direct`, `gate` (until
another task says `open`), `wait` (until it is cancelled), `fail`, `refuse`, `parts` (gives back what
it was sent).
"""

import asyncio
import socket
import sys

import grpc
import uvicorn

from a2a.helpers import (
    get_message_text,
    new_data_part,
    new_raw_part,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
    new_url_part,
)
from a2a.server.agent_execution import AgentExecutor
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as a2a
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette


class Executor(AgentExecutor):
    """Does what the first text of the task says."""

    def __init__(self):
        self.gate = asyncio.Event()

    async def execute(self, context, event_queue):
        task = context.current_task
        if context.get_user_input() == 'direct':
            answer = new_text_message('Forty-two.', context_id=context.context_id)
            await event_queue.enqueue_event(answer)
            return
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        order = get_message_text(task.history[0])
        if order.startswith('parts'):
            await updater.add_artifact(list(context.message.parts), 'p', 'parts')
            await updater.complete()
            return
        await getattr(self, f'do_{order}')(updater, context.get_user_input())

    async def do_report(self, updater, text):
        await updater.start_work(updater.new_agent_message([new_text_part('Looking it up')]))
        await updater.add_artifact([new_text_part('one ')], 'notes', 'notes', append=False)
        await updater.add_artifact(
            [new_text_part('two')], 'notes', 'notes', append=True, last_chunk=True
        )
        await updater.add_artifact([new_data_part({'count': 42, 'tags': ['a', 'b']})], 'f', 'facts')
        plot = [
            new_raw_part(b'\x00\xff', media_type='image/png', filename='plot.png'),
            new_url_part('https://example.com/plot.svg', media_type='image/svg+xml'),
        ]
        await updater.add_artifact(plot, 'plot', 'plot')
        await updater.complete(updater.new_agent_message([new_text_part('Here it is')]))

    async def do_ask(self, updater, text):
        if text == 'ask':
            question = updater.new_agent_message([new_text_part('Which colour?')])
            await updater.requires_input(question)
        else:
            await updater.add_artifact([new_text_part(f'Painted it {text}.')], 'p', 'painting')
            await updater.complete()

    async def do_gate(self, updater, text):
        await updater.start_work(updater.new_agent_message([new_text_part('At the gate')]))
        await self.gate.wait()
        await updater.add_artifact([new_text_part('through')], 'g', 'gate')
        await updater.complete()

    async def do_open(self, updater, text):
        self.gate.set()
        await updater.complete()

    async def do_wait(self, updater, text):
        await updater.start_work()
        await updater.add_artifact([new_text_part('started')], 'w', 'waiting')
        await asyncio.Event().wait()

    async def do_fail(self, updater, text):
        await updater.failed(updater.new_agent_message([new_text_part('No luck')]))

    async def do_refuse(self, updater, text):
        await updater.reject(updater.new_agent_message([new_text_part('Not here')]))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url, binding, streaming, versions):
    return a2a.AgentCard(
        name='Python agent',
        description='Does as it is told',
        version='1.2.3',
        supported_interfaces=[
            a2a.AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for version in versions
        ],
        capabilities=a2a.AgentCapabilities(streaming=streaming),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain', 'application/json'],
        skills=[a2a.AgentSkill(id='obey', name='Obey', description='Obeys', tags=['test'])],
    )


async def main():
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    both, over_grpc = 'both' in sys.argv[1:], 'grpc' in sys.argv[1:]
    url, binding = f'http://127.0.0.1:{port}/rpc', 'JSONRPC'
    calls = grpc.aio.server()
    if over_grpc:
        url, binding = f'127.0.0.1:{calls.add_insecure_port("127.0.0.1:0")}', 'GRPC'
    if 'rest' in sys.argv[1:]:
        url, binding = f'http://127.0.0.1:{port}/rest', 'HTTP+JSON'
    versions = ['1.0', '0.3'] if both else ['1.0']
    agent = card(url, binding, 'no-streaming' not in sys.argv[1:], versions)
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), agent)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), calls)
    if both:
        compat = CompatGrpcHandler(handler)
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(compat, calls)
    routes = create_agent_card_routes(agent)
    if binding == 'JSONRPC':
        routes += create_jsonrpc_routes(handler, '/rpc', enable_v0_3_compat=both)
    if binding == 'HTTP+JSON':
        routes += create_rest_routes(handler, path_prefix='/rest')
    await calls.start()
    print(port, flush=True)
    config = uvicorn.Config(Starlette(routes=routes), log_level='warning')
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == '__main__':
    asyncio.run(main())
