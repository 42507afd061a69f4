"""Takes the pushes of a gateway, and keeps each as it came."""

import asyncio
import json


class Receiver:
    """A web server for POSTs on a free port of the loopback."""

    def __init__(self):
        self.posts = []
        self.came = asyncio.Condition()

    async def start(self):
        server = await asyncio.start_server(self.serve, '127.0.0.1', 0)
        port = server.sockets[0].getsockname()[1]
        self.url = f'http://127.0.0.1:{port}'

    async def serve(self, reader, writer):
        """One request: the connection is closed after it."""
        head = (await reader.readuntil(b'\r\n\r\n')).decode()
        first, *lines = head.split('\r\n')[:-2]
        headers = {name.lower(): value for name, value in (line.split(': ', 1) for line in lines)}
        body = await reader.readexactly(int(headers['content-length']))
        writer.write(b'HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
        await writer.drain()
        writer.close()
        async with self.came:
            self.posts.append((first.split()[1], headers, json.loads(body)))
            self.came.notify_all()

    async def take(self, path, count):
        """The first posts to a path, as soon as there are so many."""
        async with self.came:
            await self.came.wait_for(lambda: len(self.at(path)) >= count)
        return self.at(path)

    def at(self, path):
        return [(headers, body) for at, headers, body in self.posts if at == path]
