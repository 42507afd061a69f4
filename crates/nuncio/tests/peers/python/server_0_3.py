"""An agent with the official Python SDK 0.3; prints its port, and runs until it is killed.

It behaves as `server_1.py` does, and takes the arguments `no-streaming`, `grpc` and `rest`.
"""

import asyncio
import socket
import sys

import grpc
import uvicorn

from a2a import types as a2a
from a2a.grpc import a2a_pb2_grpc
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.utils import get_message_text, new_agent_text_message, new_task


class Executor(AgentExecutor):
    """Does what the first text of the task says."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.running = {}

    async def execute(self, context, event_queue):
        task = context.current_task
        if context.get_user_input() == 'direct':
            answer = new_agent_text_message('Forty-two.', context_id=context.context_id)
            await event_queue.enqueue_event(answer)
            return
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        order = get_message_text(task.history[0])
        if order.startswith('parts'):
            await updater.add_artifact(context.message.parts, 'p', 'parts')
            await updater.complete()
            return
        await getattr(self, f'do_{order}')(updater, context.get_user_input())

    async def do_report(self, updater, text):
        await updater.start_work(updater.new_agent_message([text_part('Looking it up')]))
        await updater.add_artifact([text_part('one ')], 'notes', 'notes', append=False)
        await updater.add_artifact(
            [text_part('two')], 'notes', 'notes', append=True, last_chunk=True
        )
        facts = a2a.Part(root=a2a.DataPart(data={'count': 42, 'tags': ['a', 'b']}))
        await updater.add_artifact([facts], 'f', 'facts')
        inline = a2a.FileWithBytes(bytes='AP8=', mime_type='image/png', name='plot.png')
        linked = a2a.FileWithUri(uri='https://example.com/plot.svg', mime_type='image/svg+xml')
        plot = [a2a.Part(root=a2a.FilePart(file=file)) for file in (inline, linked)]
        await updater.add_artifact(plot, 'plot', 'plot')
        await updater.complete(updater.new_agent_message([text_part('Here it is')]))

    async def do_ask(self, updater, text):
        if text == 'ask':
            question = updater.new_agent_message([text_part('Which colour?')])
            await updater.requires_input(question, final=True)
        else:
            await updater.add_artifact([text_part(f'Painted it {text}.')], 'p', 'painting')
            await updater.complete()

    async def do_gate(self, updater, text):
        await updater.start_work(updater.new_agent_message([text_part('At the gate')]))
        await self.gate.wait()
        await updater.add_artifact([text_part('through')], 'g', 'gate')
        await updater.complete()

    async def do_open(self, updater, text):
        self.gate.set()
        await updater.complete()

    async def do_wait(self, updater, text):
        await updater.start_work()
        await updater.add_artifact([text_part('started')], 'w', 'waiting')
        cancelled = self.running[updater.task_id] = asyncio.Event()
        await cancelled.wait()

    async def do_fail(self, updater, text):
        await updater.failed(updater.new_agent_message([text_part('No luck')]))

    async def do_refuse(self, updater, text):
        await updater.reject(updater.new_agent_message([text_part('Not here')]))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        if context.task_id in self.running:
            self.running[context.task_id].set()


def text_part(text):
    return a2a.Part(root=a2a.TextPart(text=text))


def card(url, transport, streaming):
    return a2a.AgentCard(
        name='Python agent',
        description='Does as it is told',
        version='1.2.3',
        url=url,
        preferred_transport=transport,
        capabilities=a2a.AgentCapabilities(streaming=streaming),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain', 'application/json'],
        skills=[a2a.AgentSkill(id='obey', name='Obey', description='Obeys', tags=['test'])],
    )


async def main(*arguments):
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    calls = grpc.aio.server()
    url, transport = f'http://127.0.0.1:{port}/rpc', 'JSONRPC'
    if 'grpc' in arguments:
        url, transport = f'127.0.0.1:{calls.add_insecure_port("127.0.0.1:0")}', 'GRPC'
    if 'rest' in arguments:
        url, transport = f'http://127.0.0.1:{port}', 'HTTP+JSON'
    agent = card(url, transport, 'no-streaming' not in arguments)
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore())
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(agent, handler), calls)
    if transport == 'HTTP+JSON':
        app = A2ARESTFastAPIApplication(agent, handler).build()
    else:
        app = A2AStarletteApplication(agent, handler).build(rpc_url='/rpc')
    await calls.start()
    print(port, flush=True)
    config = uvicorn.Config(app, log_level='warning')
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
