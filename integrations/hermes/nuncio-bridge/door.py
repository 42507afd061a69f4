"""The plugin's HTTP: who may ask, what is asked, and what is told while a turn goes on.

POST /turn is answered by a stream of events: comments while Hermes is at work, then one with the end.
A connection that closes stops its turn. Listens on the loopback interface alone.
"""

import asyncio
import hmac
import json

from .turn import Asked, Refused

try:
    from aiohttp import web
except ImportError:
    web = None

HOST = "127.0.0.1"
# Larger than any text that a model could read, in bytes.
MAX_BODY_BYTES = 2 * 1024 * 1024
# How often something is said while Hermes is at work, in seconds.
KEEPALIVE_SECONDS = 15.0
# How long answers may still take when the door closes, in seconds.
CLOSE_SECONDS = 5.0

def can_listen():
    return web is not None


class Door:
    def __init__(self, bridge, port, token):
        self.bridge = bridge
        self.port = port
        self.token = token
        self.runner = None

    async def open(self):
        @web.middleware
        async def guard(request, handler):
            return await self.guarded(request, handler)

        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[guard])
        app.router.add_get("/health", self.health)
        app.router.add_get("/v1/toolsets", self.toolsets)
        app.router.add_get("/v1/skills", self.skills)
        app.router.add_post("/turn", self.turn)
        app.router.add_post("/turn/{id}/stop", self.stop)
        app.router.add_delete("/chat/{chat}", self.forget)
        self.runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=CLOSE_SECONDS
        )
        await self.runner.setup()
        await web.TCPSite(self.runner, HOST, self.port).start()

    async def close(self):
        if self.runner:
            await self.runner.cleanup()

    async def guarded(self, request, handler):
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        try:
            if not hmac.compare_digest(given, b"Bearer " + self.token.encode()):
                raise Refused(401, "the token is not the one in platforms.nuncio.extra.token")
            return await handler(request)
        except Refused as refused:
            error = {"error": {"message": str(refused)}}
            return web.json_response(error, status=refused.status)

    async def health(self, _):
        from hermes_cli import __version__

        return web.json_response({"status": "ok", "platform": "nuncio", "version": __version__})

    async def toolsets(self, _):
        return web.json_response({"data": await asyncio.to_thread(list_toolsets)})

    async def skills(self, _):
        from tools.skills_tool import _find_all_skills

        return web.json_response({"data": await asyncio.to_thread(_find_all_skills)})

    async def turn(self, request):
        try:
            asked = Asked(await request.json())
        except (ValueError, LookupError) as error:
            raise Refused(400, f"the body is no JSON: {error}") from error
        turn = self.bridge.admit(asked)
        work = asyncio.ensure_future(self.bridge.run(turn))
        try:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            while not (await asyncio.wait({work}, timeout=KEEPALIVE_SECONDS))[0]:
                await response.write(b": keepalive\n\n")
            state, text = work.result()
            end = {"event": "end", "id": asked.id, "state": state, "text": text}
            await response.write(f"data: {json.dumps(end)}\n\n".encode())
            return response
        finally:
            # Whoever asked is gone: nobody would hear the answer.
            if not work.done():
                turn.end("canceled")
                work.cancel()
                await asyncio.wait({work})

    async def stop(self, request):
        name = request.match_info["id"]
        await self.bridge.stop(name)
        return web.json_response({"id": name, "state": "canceled"})

    async def forget(self, request):
        await self.bridge.forget(request.match_info["chat"])
        return web.json_response({})


def list_toolsets():
    """The toolsets that turns of this platform have."""
    from hermes_cli.config import load_config
    from hermes_cli.tools_config import (
        _get_effective_configurable_toolsets,
        _get_platform_tools,
    )

    enabled = _get_platform_tools(load_config(), "nuncio", include_default_mcp_servers=False)
    return [
        {"name": name, "label": label, "description": about, "enabled": name in enabled}
        for name, label, about in _get_effective_configurable_toolsets()
    ]
