"""A chat platform of Hermes with one person in one room, for tests.

`POST /say` is what the person writes, `GET /said` waits for the next text that is written to them.
"""

import asyncio
import uuid

from aiohttp import web
from gateway.config import Platform
from gateway.platforms.base import BasePlatformAdapter, MessageEvent, MessageType, SendResult

ROOM = "room"
PERSON = "owner"


class Chat(BasePlatformAdapter):
    def __init__(self, config):
        super().__init__(config=config, platform=Platform("chat"))
        self.texts = asyncio.Queue()

    async def connect(self, **_):
        app = web.Application()
        app.router.add_post("/say", self.say)
        app.router.add_get("/said", self.said)
        self.runner = web.AppRunner(app, handler_cancellation=True)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", self.config.extra["port"]).start()
        self._mark_connected()
        return True

    async def disconnect(self):
        self._mark_disconnected()
        await self.runner.cleanup()

    async def say(self, request):
        source = self.build_source(chat_id=ROOM, user_id=PERSON, user_name=PERSON)
        event = MessageEvent(
            text=await request.text(),
            message_type=MessageType.TEXT,
            source=source,
            message_id=uuid.uuid4().hex,
        )
        await self.handle_message(event)
        return web.json_response({})

    async def said(self, _):
        return web.Response(text=await self.texts.get())

    async def send(self, chat_id, content, reply_to=None, metadata=None):
        await self.texts.put(content)
        return SendResult(success=True, message_id=uuid.uuid4().hex)

    async def send_typing(self, chat_id, metadata=None):
        return None

    async def get_chat_info(self, chat_id):
        return {"name": str(chat_id), "type": "dm"}


def register(ctx):
    ctx.register_platform(
        name="chat",
        label="Chat",
        adapter_factory=Chat,
        check_fn=lambda: True,
        validate_config=lambda _: True,
        is_connected=lambda _: True,
        allowed_users_env="CHAT_ALLOWED_USERS",
    )
