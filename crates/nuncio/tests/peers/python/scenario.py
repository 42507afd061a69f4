"""The conversation that a Python SDK has with nuncio; what came of it is one JSON object.

A `peer` is an SDK behind the methods that are used here; it gives back plain values in the notation
of `notation.py`. The test in Rust knows what has to come; nothing is judged here.
"""

import asyncio
import json
import sys
import traceback

import notation
from receiver import Receiver

STEP_SECONDS = 30


async def card(peer):
    return await peer.card('echo')


async def send(peer):
    return await peer.send('echo', parts=['hello', {'n': 42, 'deep': [True, None]}, b'\x00\xff'])


async def chunks(peer):
    """A text that comes in pieces: what they make together, and how they are marked."""
    whole = await peer.send('chunks', 'go')
    pieces = [event async for event in peer.stream('chunks', 'go')]
    joined = ''.join(event.get('text', '') for event in pieces)
    marks = [event['line'].split()[1] for event in pieces if event['line'].startswith('artifact')]
    ends = [pieces[0]['line'], pieces[-1]['line']]
    return {'whole': whole, 'joined': notation.text(joined), 'marks': marks, 'ends': ends}


async def line_ends(peer):
    """Characters that end a line to some readers: in the text, not in the frames of a stream."""
    text = 'a\u2028b\u2029c\x85d\x0b\x0c\x1ce\r\nf <b>&"\' \U0001F469\u200D\U0001F467'
    events = [event async for event in peer.stream('echo', text)]
    whole = await peer.send('echo', text)
    same = [event['text'] == text for event in events if 'text' in event]
    return {'streamed': same, 'sent': whole['artifacts'] == [f'artifact - {notation.text(text)}']}


async def stream(peer):
    return await told(peer.stream('report', 'go'))


async def report(peer):
    return await peer.send('report', 'go')


async def direct(peer):
    answer = await peer.send('oracle', 'go')
    return {'sent': answer, 'streamed': await told(peer.stream('oracle', 'go'))}


async def failure(peer):
    return await peer.send('fails', 'go')


async def ask(peer):
    first = await peer.send('asks', 'paint it')
    second = await peer.send('asks', 'blue', task=first['id'], context=first['context'])
    streamed, ids = [], {}
    for text in ('paint it', 'green'):
        events = []
        async for event in peer.stream('asks', text, **ids):
            events.append(event['line'])
            ids = {'task': event['task'], 'context': event['context']}
        streamed.append(events)
    return {'first': first, 'second': second, 'streamed': streamed}


async def get(peer):
    asked = await peer.send('asks', 'paint it')
    await peer.send('asks', 'blue', task=asked['id'])
    lengths = {'all': None, 'none': 0, 'one': 1, 'many': 999}
    return {name: await peer.get('asks', asked['id'], n) for name, n in lengths.items()}


async def list_tasks(peer):
    one = await peer.send('echo', 'one')
    two = await peer.send('echo', 'two', context=one['context'])
    other = await peer.send('echo', 'other')
    whole = await peer.list('echo', context=one['context'])
    page = await peer.list('echo', context=one['context'], size=1)
    rest = await peer.list('echo', context=one['context'], size=1, token=page['token'])
    working = await peer.list('echo', state='WORKING')
    detailed = await peer.list('echo', context=other['context'], artifacts=True)
    ids = {'one': one['id'], 'two': two['id'], 'other': other['id']}
    pages = {'whole': whole, 'page': page, 'rest': rest, 'working': working, 'detailed': detailed}
    return {**ids, **pages}


async def cancel(peer):
    lines, answer, task = [], None, None
    async for event in peer.stream('patient', 'go'):
        lines.append(event['line'])
        if event['line'].startswith('artifact'):
            task = event['task']
            answer = await peer.cancel('patient', task)
    again = await refusal(peer, peer.cancel('patient', task))
    after = await peer.get('patient', task, None)
    return {'lines': lines, 'answer': answer, 'again': again, 'after': after}


async def leave(peer):
    """Returns at once, whatever becomes of the task."""
    task = await peer.send('patient', 'go', wait=False)
    await peer.cancel('patient', task['id'])
    return task


async def subscribe(peer):
    """Two that watch a task which waits for an answer, and the end of it."""
    asked = await peer.send('asks', 'paint it')
    watching = [asyncio.Event(), asyncio.Event()]

    async def watch(begun):
        lines = []
        async for event in peer.subscribe('asks', asked['id']):
            lines.append(event['line'])
            begun.set()
        return lines

    watchers = [asyncio.create_task(watch(begun)) for begun in watching]
    for begun in watching:
        await begun.wait()
    await peer.send('asks', 'blue', task=asked['id'])
    watched = [await watcher for watcher in watchers]
    ended = await refusal(peer, told(peer.subscribe('asks', asked['id'])))
    return {'watched': watched, 'ended': ended}


async def resubscribe(peer):
    """A second stream on a task whose first one is still there."""
    first, second, task = [], None, None
    seen = asyncio.Event()

    async def watch():
        lines = []
        async for event in peer.subscribe('patient', task):
            lines.append(event['line'])
            seen.set()
        return lines

    async for event in peer.stream('patient', 'go'):
        first.append(event['line'])
        if event['line'].startswith('artifact'):
            task = event['task']
            second = asyncio.create_task(watch())
            await seen.wait()
            await peer.cancel('patient', task)
    return {'first': first, 'second': await second}


async def errors(peer):
    done = await peer.send('echo', 'one')
    asked = await peer.send('asks', 'paint it')
    return {
        'get unknown': await refusal(peer, peer.get('echo', 'no-such-task', None)),
        'cancel unknown': await refusal(peer, peer.cancel('echo', 'no-such-task')),
        'watch unknown': await refusal(peer, told(peer.subscribe('echo', 'no-such-task'))),
        'send to unknown': await refusal(peer, peer.send('echo', 'x', task='no-such-task')),
        'stream to unknown': await refusal(peer, told(peer.stream('echo', 'x', task='none'))),
        'send to ended': await refusal(peer, peer.send('echo', 'x', task=done['id'])),
        'other context': await refusal(
            peer, peer.send('asks', 'x', task=asked['id'], context='another')
        ),
        'no parts': await refusal(peer, peer.send('echo', parts=[])),
        'other agent': await refusal(peer, peer.get('asks', done['id'], None)),
    }


async def push(peer):
    """Webhooks of a task that waits, and one that comes with its message: what is told of them, and
    what is posted to them.
    """
    receiver = Receiver()
    await receiver.start()
    asked = (await peer.send('asks', 'paint it'))['id']
    made = await peer.set_hook('asks', asked, f'{receiver.url}/kept', 'a-token')
    read = await peer.get_hook('asks', asked, made['id'])
    steps = {'made': made, 'read': read}
    if peer.manages_hooks:
        other = await peer.set_hook('asks', asked, f'{receiver.url}/gone', 'a-token')
        steps['listed'] = await peer.list_hooks('asks', asked)
        await peer.delete_hook('asks', asked, other['id'])
        steps['gone'] = await refusal(peer, peer.get_hook('asks', asked, other['id']))
    steps['none'] = await refusal(peer, peer.set_hook('asks', 'no-such-task', receiver.url, 't'))
    await peer.send('asks', 'blue', task=asked)
    await peer.send('echo', 'hello', hook=f'{receiver.url}/inline')
    # A waiting task was posted of with its end only, a new one with its beginning, too.
    for name, path in {'kept': '/kept', 'inline': '/inline'}.items():
        posts = await receiver.take(path, 3)
        steps[name] = [peer.tell_post(body) for _, body in posts]
    steps['tokens'] = [headers.get('x-a2a-notification-token') for headers, _ in receiver.at('/kept')]
    steps['late'] = len(receiver.at('/gone'))
    peer.posts += [body for _, _, body in receiver.posts]
    return steps


STEPS = [
    card, send, chunks, line_ends, stream, report, direct, failure, ask, get, list_tasks, cancel, leave,
    subscribe, resubscribe, push, errors,
]


async def told(events):
    return [event['line'] async for event in events]


async def refusal(peer, call):
    """The error that a call ends with, or what it gave instead."""
    try:
        return {'gave': await call}
    except peer.errors as error:
        return peer.tell_error(error)


async def attempt(step, peer):
    try:
        async with asyncio.timeout(STEP_SECONDS):
            return {'gave': await step(peer)}
    except Exception as error:
        return {'raised': repr(error), 'trace': traceback.format_exc()}


async def main(peer, skipped=()):
    steps = {}
    for step in STEPS:
        if step not in skipped:
            steps[step.__name__] = await attempt(step, peer)
    await peer.close()
    json.dump({'steps': steps, 'complaints': peer.complaints()}, sys.stdout)
