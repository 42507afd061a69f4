// The conversation that a JavaScript SDK has with nuncio; what came of it is one JSON object. It is
// the one of `../python/scenario.py`, step by step, so that one test judges all.

import { CODES } from './journal.js';
import * as notation from './notation.js';

const STEP_SECONDS = 30;

const steps = {
  card: (peer) => peer.card('echo'),

  send: (peer) =>
    peer.send('echo', { parts: ['hello', { n: 42, deep: [true, null] }, Buffer.from([0, 255])] }),

  async chunks(peer) {
    const whole = await peer.send('chunks', { text: 'go' });
    const pieces = await all(peer.stream('chunks', { text: 'go' }));
    const joined = pieces.map((event) => event.text ?? '').join('');
    const marks = pieces
      .filter((event) => event.line.startsWith('artifact'))
      .map((event) => event.line.split(' ')[1]);
    const ends = [pieces.at(0).line, pieces.at(-1).line];
    return { whole, joined: notation.text(joined), marks, ends };
  },

  async line_ends(peer) {
    const text = 'a\u2028b\u2029c\x85d\x0b\x0c\x1ce\r\nf <b>&"\' \u{1F469}\u200D\u{1F467}';
    const events = await all(peer.stream('echo', { text }));
    const whole = await peer.send('echo', { text });
    const same = events.filter((event) => 'text' in event).map((event) => event.text === text);
    const told = [`artifact - ${notation.text(text)}`];
    return { streamed: same, sent: JSON.stringify(whole.artifacts) === JSON.stringify(told) };
  },

  stream: (peer) => told(peer.stream('report', { text: 'go' })),

  report: (peer) => peer.send('report', { text: 'go' }),

  async direct(peer) {
    const sent = await peer.send('oracle', { text: 'go' });
    return { sent, streamed: await told(peer.stream('oracle', { text: 'go' })) };
  },

  failure: (peer) => peer.send('fails', { text: 'go' }),

  async ask(peer) {
    const first = await peer.send('asks', { text: 'paint it' });
    const ids = { task: first.id, context: first.context };
    const second = await peer.send('asks', { text: 'blue', ...ids });
    const streamed = [];
    let known = {};
    for (const text of ['paint it', 'green']) {
      const events = await all(peer.stream('asks', { text, ...known }));
      streamed.push(events.map((event) => event.line));
      known = { task: events.at(-1).task, context: events.at(-1).context };
    }
    return { first, second, streamed };
  },

  async get(peer) {
    const asked = await peer.send('asks', { text: 'paint it' });
    await peer.send('asks', { text: 'blue', task: asked.id });
    return {
      all: await peer.get('asks', asked.id),
      none: await peer.get('asks', asked.id, 0),
      one: await peer.get('asks', asked.id, 1),
      many: await peer.get('asks', asked.id, 999),
    };
  },

  async list_tasks(peer) {
    const one = await peer.send('echo', { text: 'one' });
    const context = one.context;
    const two = await peer.send('echo', { text: 'two', context });
    const other = await peer.send('echo', { text: 'other' });
    const page = await peer.list('echo', { context, size: 1 });
    return {
      one: one.id,
      two: two.id,
      other: other.id,
      whole: await peer.list('echo', { context }),
      page,
      rest: await peer.list('echo', { context, size: 1, token: page.token }),
      working: await peer.list('echo', { state: 'WORKING' }),
      detailed: await peer.list('echo', { context: other.context, artifacts: true }),
    };
  },

  async cancel(peer) {
    const lines = [];
    let answer;
    let task;
    for await (const event of peer.stream('patient', { text: 'go' })) {
      lines.push(event.line);
      if (event.line.startsWith('artifact')) {
        task = event.task;
        answer = await peer.cancel('patient', task);
      }
    }
    const again = await refusal(peer, () => peer.cancel('patient', task));
    return { lines, answer, again, after: await peer.get('patient', task) };
  },

  async leave(peer) {
    const task = await peer.send('patient', { text: 'go', wait: false });
    await peer.cancel('patient', task.id);
    return task;
  },

  async subscribe(peer) {
    const asked = await peer.send('asks', { text: 'paint it' });
    const watchers = [watch(peer, 'asks', asked.id), watch(peer, 'asks', asked.id)];
    await Promise.all(watchers.map((watcher) => watcher.begun));
    await peer.send('asks', { text: 'blue', task: asked.id });
    const watched = await Promise.all(watchers.map((watcher) => watcher.lines));
    const ended = await refusal(peer, () => told(peer.subscribe('asks', asked.id)));
    return { watched, ended };
  },

  async resubscribe(peer) {
    const first = [];
    let second;
    for await (const event of peer.stream('patient', { text: 'go' })) {
      first.push(event.line);
      if (event.line.startsWith('artifact')) {
        second = watch(peer, 'patient', event.task);
        await second.begun;
        await peer.cancel('patient', event.task);
      }
    }
    return { first, second: await second.lines };
  },

  async errors(peer) {
    const done = await peer.send('echo', { text: 'one' });
    const asked = await peer.send('asks', { text: 'paint it' });
    const text = 'x';
    const calls = {
      'get unknown': () => peer.get('echo', 'no-such-task'),
      'cancel unknown': () => peer.cancel('echo', 'no-such-task'),
      'watch unknown': () => told(peer.subscribe('echo', 'no-such-task')),
      'send to unknown': () => peer.send('echo', { text, task: 'no-such-task' }),
      'stream to unknown': () => told(peer.stream('echo', { text, task: 'none' })),
      'send to ended': () => peer.send('echo', { text, task: done.id }),
      'other context': () => peer.send('asks', { text, task: asked.id, context: 'another' }),
      'no parts': () => peer.send('echo', { parts: [] }),
      'other agent': () => peer.get('asks', done.id),
    };
    const refusals = {};
    for (const [name, call] of Object.entries(calls)) {
      refusals[name] = await refusal(peer, call);
    }
    return refusals;
  },
};

async function all(events) {
  const list = [];
  for await (const event of events) {
    list.push(event);
  }
  return list;
}

const told = async (events) => (await all(events)).map((event) => event.line);

// Reads a subscription; `begun` is kept with its first event.
function watch(peer, agent, task) {
  let begin;
  const begun = new Promise((resolve) => (begin = resolve));
  const lines = (async () => {
    const list = [];
    for await (const event of peer.subscribe(agent, task)) {
      list.push(event.line);
      begin();
    }
    return list;
  })();
  return { begun: Promise.race([begun, lines]), lines };
}

// The error that a call ends with, or what it gave instead.
async function refusal(peer, call) {
  peer.journal.lastError = undefined;
  let gave;
  try {
    gave = await call();
  } catch (error) {
    await peer.journal.settle();
    // Over gRPC nothing passes that could be looked at: the SDK keeps the error's reason.
    const sent = peer.journal.lastError ?? { code: CODES[error.reason], message: error.message };
    return { code: sent?.code, message: sent?.message, raised: String(error) };
  }
  return { gave };
}

async function attempt(step, peer) {
  let timer;
  const late = new Promise((_, reject) => {
    const fail = () => reject(new Error(`not done after ${STEP_SECONDS} s`));
    timer = setTimeout(fail, STEP_SECONDS * 1000);
  });
  try {
    return { gave: await Promise.race([step(peer), late]) };
  } catch (error) {
    return { raised: String(error), trace: error.stack };
  } finally {
    clearTimeout(timer);
  }
}

export async function run(peer, skipped = []) {
  const outcomes = {};
  for (const [name, step] of Object.entries(steps)) {
    if (!skipped.includes(name)) {
      outcomes[name] = await attempt(step, peer);
    }
  }
  const complaints = await peer.journal.settle();
  process.stdout.write(JSON.stringify({ steps: outcomes, complaints }));
}
