"""A hop of the integration walk that is no server and no client: `nuncio serve` runs it as a program
(jsonl), and it calls the next agent with the command of nuncio that the variable NUNCIO names.
"""

import asyncio
import base64
import json
import os
import sys
import tempfile
from pathlib import Path

import instruction as walks

BINDINGS = {
    'jsonrpc': ('jsonrpc', 'JSONRPC'),
    'grpc': ('grpc', 'GRPC'),
    'http_json': ('rest', 'HTTP+JSON'),
}


def say(state, text):
    message = {'role': 'ROLE_AGENT', 'parts': [{'text': text}]}
    status = {'state': f'TASK_STATE_{state}', 'message': message}
    print(json.dumps({'statusUpdate': {'status': status}}), flush=True)


async def update(text):
    say('WORKING', text)


async def start(*arguments):
    return await asyncio.create_subprocess_exec(
        os.environ['NUNCIO'], *arguments, '-o', 'json', stdout=asyncio.subprocess.PIPE
    )


async def run(*arguments):
    """What a command prints, one document a line."""
    command = await start(*arguments)
    printed, _ = await command.communicate()
    if command.returncode != 0:
        raise RuntimeError(f'{arguments}: exit code {command.returncode}: {printed.decode()}')
    return [json.loads(line) for line in printed.splitlines()]


async def flags(call):
    """How the next agent is called: by the binding that was asked for, in the version of its card."""
    name, binding = BINDINGS[call.transport]
    (card,) = await run('card', 'get', '-a', call.card_uri)
    found = [it for it in card['supportedInterfaces'] if it['protocolBinding'] == binding]
    if not found:
        raise RuntimeError(f'{call.card_uri} has no interface for {binding}')
    chosen = ['-a', call.card_uri, '--transport', name]
    if found[0]['protocolVersion'].startswith('0.'):
        chosen += ['--a2a-version', '0.3']
    if '://' not in found[0]['url']:
        # Servers of the SDKs take gRPC at a port of its own.
        chosen += ['--allow-origin', f'http://{found[0]["url"]}']
    return chosen


async def call(call):
    way = await flags(call)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, walks.FILE_NAME)
        file.write_bytes(call.instruction)
        send = ['send', '--file', str(file), '--media-type', walks.MEDIA_TYPE, *way]
        if call.behaviour == 'resubscribe':
            return await resubscribe(send, way)
        if call.behaviour == 'push_notification':
            url = f'{call.push_url}/notifications'
            send += ['--push-url', url, '--push-token', walks.PUSH_TOKEN]
        if call.streaming:
            return '\n'.join(texts_of(await run(*send, '--stream')))
        (answer,) = await run(*send)
        return text_of(answer)


async def resubscribe(send, way):
    streaming = await start(*send, '--stream')
    first = json.loads(await streaming.stdout.readline())
    task = first['task']['id']
    await end(streaming)
    watching = await start('task', 'subscribe', task, '--stream', *way)

    async def texts():
        async for line in watching.stdout:
            for text in texts_of([json.loads(line)]):
                yield text

    text = await walks.until_finished(texts())
    await end(watching)
    await run('task', 'cancel', task, *way)
    return text


async def end(command):
    command.kill()
    await command.wait()


def texts_of(events):
    """What the agent said in the events of a stream, the snapshot of a subscription included."""
    for event in events:
        of = event.get('statusUpdate') or event.get('task') or {}
        message = of.get('status', {}).get('message')
        if message and message['role'] == 'ROLE_AGENT':
            yield joined(message)


def text_of(answer):
    if 'message' in answer:
        return joined(answer['message'])
    task = answer['task']
    if task['status']['state'] != 'TASK_STATE_COMPLETED':
        raise RuntimeError(f'the next agent: {task["status"]}')
    return joined(task['status']['message'])


def joined(message):
    return '\n'.join(part['text'] for part in message['parts'] if 'text' in part)


async def main():
    message = json.loads(sys.stdin.readline())
    (part,) = message['parts']
    if (part['mediaType'], part['filename']) != (walks.MEDIA_TYPE, walks.FILE_NAME):
        raise ValueError(f'no instruction: {part}')
    instruction = walks.read(base64.b64decode(part['raw'], validate=True))
    text = await walks.walk(instruction, call)
    if walks.holds(instruction):
        await walks.hold(text, update)
    say('COMPLETED', text)


asyncio.run(main())
