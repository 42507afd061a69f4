"""What the hops of the integration walk with the official Python SDKs have in common, in either
generation: a message is followed, and its task told how that goes.
"""

import asyncio

from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater

import instruction as walks


class Hop(AgentExecutor):
    """Follows the instruction of the message, and calls the next agent where it says so.

    A generation brings `new_task(message)`, `file_of(message)` (media type, name and bytes of its first
    part), `text_part(text)` and `call(call)`, which gives what the next agent says.
    """

    def __init__(self, http):
        self.http = http
        self.held = {}

    async def execute(self, context, event_queue):
        task = self.new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        def said(text):
            return updater.new_agent_message([self.text_part(text)])

        async def update(text):
            await updater.start_work(said(text))

        try:
            media_type, name, data = self.file_of(context.message)
            if (media_type, name) != (walks.MEDIA_TYPE, walks.FILE_NAME):
                raise ValueError(f'no instruction: {context.message}')
            instruction = walks.read(data)
            text = await walks.walk(instruction, self.call)
        except Exception as error:  # noqa: BLE001: whatever goes wrong ends the walk
            await updater.failed(said(repr(error)))
            return
        if walks.holds(instruction):
            cancelled = self.held[task.id] = asyncio.Event()
            await walks.hold(text, update, cancelled)
            if cancelled.is_set():
                return
        await updater.complete(said(text))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        if context.task_id in self.held:
            self.held[context.task_id].set()
