"""Instructions of the integration walk: read from protocol buffers, and followed.

Knows nothing of A2A and of SDKs: the hops (`hop_*.py`) bring a way to call the next agent.

    Instruction     call_agent 1, return_response 2 or steps 3
    CallAgent       transport 1, agent_card_uri 2, instruction 3, streaming 4,
                    and one of send_message 5, push_notification 6 (its url 1), resubscribe 7
    ReturnResponse  response 1, hold_task 2
    SeriesOfSteps   instructions 1, which are many
"""

import asyncio
from dataclasses import dataclass

MEDIA_TYPE = 'application/x-protobuf'
FILE_NAME = 'instruction.bin'

# What a task that is held says at the end of its text: then its caller may let go.
FINISHED = 'task-finished'
# Updates of a task that is held, and seconds between them.
HOLD_UPDATES = 5
HOLD_SECONDS = 2

# Of webhooks on the walk; the receiver wants to see it.
PUSH_TOKEN = 'itk-token'


@dataclass
class Call:
    transport: str
    card_uri: str
    instruction: bytes
    streaming: bool
    behaviour: str
    push_url: str = ''


@dataclass
class Reply:
    text: str
    holds: bool


@dataclass
class Steps:
    steps: list


def read(data):
    for number, value in fields(data):
        if number == 1:
            return read_call(value)
        if number == 2:
            members = dict(fields(value))
            return Reply(members.get(1, b'').decode(), bool(members.get(2, 0)))
        if number == 3:
            return Steps([read(step) for at, step in fields(value) if at == 1])
    raise ValueError('an instruction that says nothing')


def read_call(data):
    members = dict(fields(data))
    behaviours = {5: 'send_message', 6: 'push_notification', 7: 'resubscribe'}
    chosen = [name for number, name in behaviours.items() if number in members]
    return Call(
        transport=members[1].decode(),
        card_uri=members[2].decode(),
        instruction=members[3],
        streaming=bool(members.get(4, 0)),
        behaviour=chosen[0] if chosen else 'send_message',
        push_url=dict(fields(members.get(6, b''))).get(1, b'').decode(),
    )


def fields(data):
    """Number and value of each field: an integer or bytes, as far as these messages have them."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        elif key & 7 != 0:
            raise ValueError(f'a field of wire type {key & 7}')
        yield key >> 3, value
    if at != len(data):
        raise ValueError('a field is cut off')


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


async def walk(instruction, call):
    """The outputs in their order; `call` takes a `Call` and gives what the next agent answered."""
    if isinstance(instruction, Reply):
        return instruction.text
    if isinstance(instruction, Steps):
        return '\n'.join([await walk(step, call) for step in instruction.steps])
    return await call(instruction)


def holds(instruction):
    """Whether this agent's own part of the walk, not that of the next one, is to be held."""
    if isinstance(instruction, Steps):
        return any(holds(step) for step in instruction.steps)
    return isinstance(instruction, Reply) and instruction.holds


async def hold(text, update, cancelled=None):
    """Says the text again and again, as those who come late see only what is said after that."""
    for _ in range(HOLD_UPDATES):
        await update(f'{text}\n{FINISHED}')
        try:
            async with asyncio.timeout(HOLD_SECONDS):
                await (cancelled or asyncio.Event()).wait()
            return
        except TimeoutError:
            pass


async def until_finished(texts):
    """The text of a task that is held, from the texts that its stream brings."""
    seen = []
    async for text in texts:
        seen.append(text.replace(FINISHED, '').strip('\n'))
        if FINISHED in text:
            return '\n'.join(it for it in seen if it)
    raise RuntimeError(f'the stream ended before the task had finished: {seen}')
