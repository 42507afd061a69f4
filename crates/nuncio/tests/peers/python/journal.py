"""Keeps every HTTP exchange of a client as it stood on the wire, while the SDK reads it.

Knows nothing of A2A; `strict_1.py` and `strict_0_3.py` judge what is kept here.
"""

import json
import re

import httpx


class Exchange:
    """One request and its answer; `body` grows as the SDK reads."""

    def __init__(self, request, response):
        self.verb, self.path = request.method, request.url.path
        self.request = json.loads(request.content) if request.content else None
        self.status = response.status_code
        self.headers = response.headers
        self.body = b''

    @property
    def is_rpc(self):
        return bool(self.request) and 'jsonrpc' in self.request

    @property
    def is_card(self):
        return self.path.endswith('/.well-known/agent-card.json')

    @property
    def method(self):
        """The JSON-RPC method, or verb and path of what has none."""
        return self.request['method'] if self.is_rpc else f'{self.verb} {self.path}'

    def fitting(self, paths):
        """The last of these triples of verb, path and a kind whose verb and path fit: its kind."""
        fits = [
            kind
            for verb, path, kind in paths
            if re.fullmatch(verb, self.verb) and re.search(path + '$', self.path)
        ]
        return fits[-1]

    def strange_head(self):
        """What is wrong with status and media type, as far as every answer should have them."""
        if self.status != 200 and (self.is_rpc or self.is_card):
            yield f'HTTP {self.status}'
        kind = self.headers.get('content-type')
        if kind not in ('application/json', 'text/event-stream'):
            yield f'content type {kind}'

    @property
    def streamed(self):
        return self.headers.get('content-type', '').startswith('text/event-stream')

    def frames(self):
        """The data of each event of a stream, read by the rules of SSE for our one-line data."""
        for block in self.body.decode().split('\n\n')[:-1]:
            data = [line[5:].lstrip() for line in block.split('\n') if line.startswith('data:')]
            if data:
                yield json.loads('\n'.join(data))

    def documents(self):
        """Every JSON document of the answer; none in one without content."""
        if self.status == 204:
            return []
        return list(self.frames()) if self.streamed else [json.loads(self.body)]


class Tee(httpx.AsyncByteStream):
    """Hands bytes on and keeps them."""

    def __init__(self, stream, exchange):
        self.stream = stream
        self.exchange = exchange

    async def __aiter__(self):
        async for chunk in self.stream:
            self.exchange.body += chunk
            yield chunk

    async def aclose(self):
        await self.stream.aclose()


class Journal(httpx.AsyncBaseTransport):
    """A transport for `httpx.AsyncClient` that keeps what passes."""

    def __init__(self):
        self.inner = httpx.AsyncHTTPTransport()
        self.exchanges = []

    async def handle_async_request(self, request):
        await request.aread()
        response = await self.inner.handle_async_request(request)
        exchange = Exchange(request, response)
        self.exchanges.append(exchange)
        if not exchange.streamed:
            # An SDK may drop what is no stream unread.
            exchange.body = await response.aread()
            return response
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=Tee(response.stream, exchange),
            extensions=response.extensions,
        )

    async def aclose(self):
        await self.inner.aclose()


def complain(journal, judge):
    """What `judge(exchange, document)` finds wrong, as lines that name the call."""
    complaints = []
    for exchange in journal.exchanges:
        try:
            for document in exchange.documents():
                found = judge(exchange, document)
                complaints += [f'{exchange.method}: {it}: {json.dumps(document)}' for it in found]
        except ValueError as error:
            complaints.append(f'{exchange.method}: not JSON ({error}): {exchange.body!r}')
    return complaints


def differences(sent, read, at=''):
    """Where `read`, which the SDK made of `sent`, is not the same.

    A member that the SDK left out is no difference when it was empty.
    """
    if isinstance(sent, dict) and isinstance(read, dict):
        for name in sent.keys() | read.keys():
            here = f'{at}.{name}'
            if name not in read:
                if sent[name] not in ('', [], {}, 0, False):
                    yield f'{here} is lost'
            elif name not in sent:
                yield f'{here} was never sent'
            else:
                yield from differences(sent[name], read[name], here)
    elif isinstance(sent, list) and isinstance(read, list):
        if len(sent) != len(read):
            yield f'{at} has {len(sent)} elements, not {len(read)}'
        for index, pair in enumerate(zip(sent, read)):
            yield from differences(*pair, f'{at}[{index}]')
    elif isinstance(sent, bool) or isinstance(read, bool) or not isinstance(sent, (int, float)):
        if sent != read and not same_moment(sent, read):
            yield f'{at} is {read!r} instead of {sent!r}'
    elif float(sent) != float(read):
        yield f'{at} is {read!r} instead of {sent!r}'


def same_moment(sent, read):
    """Whether these are one time of day; the protocol buffers drop a fraction of zero."""
    both = isinstance(sent, str) and isinstance(read, str)
    return both and sent.endswith('.000Z') and sent.replace('.000Z', 'Z') == read
