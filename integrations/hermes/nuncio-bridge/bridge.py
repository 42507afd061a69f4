"""The platform adapter: brings a message into a chat as a turn of Hermes and finds out how it ended.

A chat has one turn at a time, its owner's among them. What counts as the answer is what Hermes tells
its hooks about the run of this very message: the texts that it sends can be failures, notices, or the
answer to a message that the owner wrote meanwhile, which is his and goes to him.
"""

import asyncio
import contextvars
import os
import uuid
import weakref

from gateway.config import Platform
from gateway.platforms.base import BasePlatformAdapter, MessageEvent, MessageType, SendResult
from gateway.session import SessionSource

from .door import Door
from .turn import PLATFORM, Refused, Turn

DEFAULT_PORT = 8790
# As short a token as Hermes' own API server takes.
MIN_TOKEN_CHARS = 16
# Turns at once, waiting ones among them: each of them holds a connection.
MAX_TURNS = 256
# How often it is looked whether a chat is free, or a run has stopped, in seconds: nobody tells.
POLL_SECONDS = 0.05
# How long it is waited until Hermes has let go of a turn, in seconds; nuncio waits four.
STOP_SECONDS = 3.5
# After which a turn that Hermes says nothing more of is forgotten, in seconds.
FORGET_SECONDS = 600.0
# What of Hermes' gateway this stands on.
NEEDED = ("_running_agents", "_session_key_for_source", "_adapter_for_source")

# The turn in whose course something is sent.
CURRENT = contextvars.ContextVar("nuncio_turn", default=None)


class Watch:
    """Hears from Hermes' hooks, which call from threads of their own."""

    def __init__(self):
        self.bridges = weakref.WeakSet()

    def tell(self, what, **told):
        for bridge in list(self.bridges):
            if bridge.loop and not bridge.loop.is_closed():
                bridge.loop.call_soon_threadsafe(lambda it=bridge: getattr(it, what)(**told))

    def begun(self, turn_id=None, session_id=None, user_message=None, is_first_turn=False, **_):
        if not isinstance(user_message, str):
            return None
        self.tell("on_begun", run=turn_id, session=session_id, message=user_message)
        turns = [turn for bridge in list(self.bridges) for turn in list(bridge.turns.values())]
        recalls = (it.asked.recall for it in turns if is_first_turn and it.mark in user_message)
        recall = next(recalls, None)
        return {"context": recall} if recall else None

    def answered(self, turn_id=None, session_id=None, assistant_response=None, **_):
        self.tell("on_answered", run=turn_id, session=session_id, text=assistant_response)

    def ended(self, turn_id=None, session_id=None, completed=False, interrupted=False, **_):
        self.tell(
            "on_ended", run=turn_id, session=session_id, completed=completed, interrupted=interrupted
        )


class Bridge(BasePlatformAdapter):
    # nuncio has found out who the caller is, and only nuncio has the token.
    authorization_is_upstream = True

    def __init__(self, config, watch, counts):
        super().__init__(config=config, platform=Platform(PLATFORM))
        extra = config.extra or {}
        self.token = str(extra.get("token") or os.environ.get("NUNCIO_BRIDGE_TOKEN", ""))
        self.door = Door(self, int(extra.get("port", DEFAULT_PORT)), self.token)
        self.counts = counts
        self.loop = None
        self.turns = {}
        self.stopping = set()
        # Each lock lives as long as somebody holds it or waits for it.
        self.locks = weakref.WeakValueDictionary()
        watch.bridges.add(self)

    # What Hermes asks of an adapter.

    async def connect(self, **_):
        if len(self.token) < MIN_TOKEN_CHARS:
            raise RuntimeError(
                "nuncio-bridge: set platforms.nuncio.extra.token in config.yaml, or "
                f"NUNCIO_BRIDGE_TOKEN, to {MIN_TOKEN_CHARS} or more characters"
            )
        missing = [name for name in NEEDED if not hasattr(self.gateway_runner, name)]
        if missing:
            raise RuntimeError(
                f"nuncio-bridge: this version of Hermes has no {', '.join(missing)}; 0.19.0 does"
            )
        self.loop = asyncio.get_running_loop()
        await self.door.open()
        self._mark_connected()
        return True

    async def disconnect(self):
        self._mark_disconnected()
        for turn in list(self.turns.values()):
            turn.end("failed", "Hermes stops")
        await self.door.close()

    async def send(self, chat_id, content, reply_to=None, metadata=None):
        # Without the mark of a last word it is progress; without a turn it is for nobody.
        turn = CURRENT.get()
        if turn is not None and (metadata or {}).get("notify"):
            owner = self.gateway_runner._adapter_for_source(turn.source)
            if turn.is_replaced and owner not in (None, self):
                return await owner.send(chat_id, content, metadata=metadata)
            turn.last_words = content or ""
        return SendResult(success=True, message_id=uuid.uuid4().hex)

    async def on_processing_complete(self, event, outcome):
        turn = self.turns.pop(str(event.message_id), None)
        if turn is not None:
            turn.left.set()
            turn.conclude()

    async def send_typing(self, chat_id, metadata=None):
        return None

    async def send_clarify(self, *_, **__):
        # Whoever could answer is no person at a chat: the agent asks in its reply.
        return SendResult(success=False, error="nobody reads along; ask in your reply")

    async def send_exec_approval(self, chat_id, command, session_key, **_):
        # Nobody here may approve; a chat of its owner's asks him by its own adapter.
        from tools.approval import resolve_gateway_approval

        resolve_gateway_approval(session_key, "deny")
        return SendResult(success=True, message_id=uuid.uuid4().hex)

    async def get_chat_info(self, chat_id):
        return {"name": str(chat_id), "type": "dm"}

    # What the door asks for.

    def admit(self, asked):
        """A turn for what was asked."""
        if asked.id in self.turns:
            raise Refused(409, "there is a turn with this id")
        if len(self.turns) >= MAX_TURNS:
            raise Refused(503, "too many turns are waiting")
        if getattr(self.gateway_runner, "_draining", False):
            raise Refused(503, "Hermes is about to stop")
        source = self.source_of(asked)
        turn = Turn(asked, source, self.gateway_runner._session_key_for_source(source))
        self.turns[asked.id] = turn
        self.counts.received += 1
        return turn

    async def run(self, turn):
        """Takes the turn to its end: state and text."""
        try:
            async with asyncio.timeout(turn.asked.seconds):
                async with self.locks.setdefault(turn.key, asyncio.Lock()):
                    await self.take(turn)
        except TimeoutError:
            turn.end("timeout" if turn.is_handed_over else "busy")
        finally:
            # A cancelled wait leaves no end.
            turn.end("canceled")
            if not turn.is_handed_over:
                self.turns.pop(turn.asked.id, None)
            self.counts.ended[turn.over.result()[0]] += 1
        return turn.over.result()

    async def stop(self, name):
        """Stops a turn and waits until Hermes has let go of it, for a moment."""
        turn = self.turns.get(name)
        if turn is None:
            raise Refused(404, "no such turn")
        turn.end("canceled")
        await self.let_go(turn)

    async def forget(self, chat):
        """Removes a chat of nuncio's own, with all that was said in it."""
        source = self.build_source(chat_id=chat, chat_type="dm")
        gateway = self.gateway_runner
        key = gateway._session_key_for_source(source)
        async with self.locks.setdefault(key, asyncio.Lock()):
            if key in gateway._running_agents:
                raise Refused(409, "there is a turn in this chat")
            store = gateway.session_store
            session = store.peek_session_id(key)
            if session is None:
                raise Refused(404, "no such chat")
            gateway._evict_cached_agent(key)
            await asyncio.to_thread(unlist, store, key)
            await gateway._session_db.delete_session(session)

    # How a turn goes.

    async def take(self, turn):
        while not turn.over.done() and self.is_busy(turn):
            await asyncio.sleep(POLL_SECONDS)
        if turn.over.done():
            return
        turn.is_handed_over = True
        # Hermes makes the task of the turn here, which inherits this.
        reset = CURRENT.set(turn)
        event = MessageEvent(
            text=turn.message(),
            message_type=MessageType.TEXT,
            source=turn.source,
            message_id=turn.asked.id,
            channel_prompt=turn.asked.about,
        )
        try:
            await self.handle_message(event)
            await asyncio.wait({turn.over})
        except asyncio.CancelledError:
            turn.end("timeout")
            raise
        finally:
            CURRENT.reset(reset)
            # The next message finds this one's answer in the session, or no trace of its run.
            await self.let_go(turn)

    def is_busy(self, turn):
        """Whether something is going on in the chat, or nothing can begin in it."""
        gateway = self.gateway_runner
        if getattr(gateway, "_startup_restore_in_progress", False):
            return True
        # A question that Hermes put to the owner would take the message for his answer.
        if getattr(gateway, "_update_prompt_pending", {}).get(turn.key):
            return True
        owner = gateway._adapter_for_source(turn.source)
        guards = (gateway._running_agents, self._active_sessions)
        return any(turn.key in it for it in (*guards, getattr(owner, "_active_sessions", {})))

    async def let_go(self, turn):
        """Waits, for a moment, until Hermes is done with a turn; what still runs of it is stopped."""
        if turn.is_handed_over:
            stopping = asyncio.ensure_future(self.stop_run(turn))
            self.stopping.add(stopping)
            stopping.add_done_callback(self.stopping.discard)
            await asyncio.wait({stopping}, timeout=STOP_SECONDS)

    async def stop_run(self, turn):
        # Longer than anybody waits: the run of a turn that was stopped early begins only later.
        give_up = self.loop.time() + FORGET_SECONDS
        told = None
        while not (turn.left.is_set() or turn.is_replaced):
            if self.loop.time() > give_up:
                self.turns.pop(turn.asked.id, None)
                return
            agent = self.gateway_runner._running_agents.get(turn.key)
            if turn.is_running() and agent is not told and hasattr(agent, "interrupt"):
                # Without a word, so that nothing is taken for the next message.
                agent.interrupt()
                told = agent
            await asyncio.sleep(POLL_SECONDS)

    def source_of(self, asked):
        about = {"chat_type": asked.kind, "chat_name": f"a2a:{asked.peer}", "user_name": asked.peer}
        if not asked.is_live:
            return self.build_source(chat_id=asked.chat, user_id=asked.peer, **about)
        try:
            platform = Platform(asked.platform)
        except ValueError as error:
            raise Refused(400, f"Hermes knows no platform `{asked.platform}`") from error
        # The chat of a person: its session is found by that person's own ids.
        source = SessionSource(platform=platform, chat_id=asked.chat, user_id=asked.chat, **about)
        # As for a relay: who may write here was decided before.
        source.delivered_via_upstream_relay = True
        return source

    # What Hermes tells of its runs.

    def on_begun(self, run, session, message):
        for turn in list(self.turns.values()):
            if turn.run is None and turn.is_handed_over and turn.mark in message:
                turn.run = run
                turn.sessions.add(session)
            elif turn.run not in (None, run) and session in turn.sessions:
                # The owner wrote meanwhile, and Hermes goes on with that in the same breath.
                turn.is_replaced = True
                turn.conclude()

    def on_answered(self, run, session, text):
        for turn in self.of(run, session):
            turn.answer = self.strip_media_directives_for_display(text or "")

    def on_ended(self, run, session, completed, interrupted):
        for turn in self.of(run, session):
            turn.is_complete = bool(completed and not interrupted)
            turn.is_interrupted = bool(interrupted)

    def of(self, run, session):
        for turn in list(self.turns.values()):
            if turn.run is not None and turn.run == run:
                turn.sessions.add(session)
                yield turn


def unlist(store, key):
    with store._lock:
        store._entries.pop(key, None)
        store._save()
