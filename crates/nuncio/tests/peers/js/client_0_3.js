// The official JavaScript SDK 0.3 as a client of the gateway whose address is the first argument; the
// second one may be the binding that it speaks, `rest`. It asks for the card without a version, so the
// gateway has to show a card for readers of 0.3.

import { randomUUID } from 'node:crypto';

import { Journal } from './journal.js';
import * as notation from './notation.js';
import { run } from './scenario.js';
import { sdk } from './sdk.js';

const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } =
  sdk('a2a-js-sdk-0.3/client');

const TRANSPORTS = { jsonrpc: JsonRpcTransportFactory, rest: RestTransportFactory };

// What the scenario needs, said in the SDK's own terms.
class Peer {
  journal = new Journal();
  clients = new Map();

  constructor(url, binding = 'jsonrpc') {
    this.url = url;
    const fetchImpl = this.journal.fetch;
    this.resolver = new DefaultAgentCardResolver({ fetchImpl });
    this.factory = new ClientFactory({ transports: [new TRANSPORTS[binding]({ fetchImpl })] });
  }

  resolve = (agent) =>
    this.resolver.resolve(`${this.url}/agents/${agent}/`, '.well-known/agent-card.json');

  async client(agent) {
    if (!this.clients.has(agent)) {
      const card = await this.resolve(agent);
      this.clients.set(agent, await this.factory.createFromAgentCard(card));
    }
    return this.clients.get(agent);
  }

  async card(agent) {
    const card = await this.resolve(agent);
    return {
      name: card.name,
      description: card.description,
      interfaces: [[card.preferredTransport, card.protocolVersion, card.url]],
      streaming: card.capabilities.streaming,
      skills: card.skills.map((skill) => skill.id),
      modes: [card.defaultInputModes, card.defaultOutputModes],
    };
  }

  async send(agent, how) {
    return tellEvent(await (await this.client(agent)).sendMessage(request(how)));
  }

  async *stream(agent, how) {
    const client = await this.client(agent);
    for await (const event of client.sendMessageStream(request(how))) {
      yield tellEvent(event);
    }
  }

  async get(agent, id, historyLength) {
    return tellEvent(await (await this.client(agent)).getTask({ id, historyLength }));
  }

  async cancel(agent, id) {
    return tellEvent(await (await this.client(agent)).cancelTask({ id }));
  }

  async *subscribe(agent, id) {
    const client = await this.client(agent);
    for await (const event of client.resubscribeTask({ id })) {
      yield tellEvent(event);
    }
  }
}

function request({ text, parts, task, context, wait = true }) {
  const message = {
    kind: 'message',
    messageId: randomUUID(),
    role: 'user',
    parts: (parts ?? [text]).map(makePart),
    taskId: task,
    contextId: context,
  };
  return { message, configuration: { blocking: wait } };
}

function makePart(content) {
  if (typeof content === 'string') {
    return { kind: 'text', text: content };
  }
  if (Buffer.isBuffer(content)) {
    const bytes = content.toString('base64');
    return { kind: 'file', file: { bytes, name: 'two.bin', mimeType: 'application/octet-stream' } };
  }
  return { kind: 'data', data: content };
}

function tellPart(part) {
  switch (part.kind) {
    case 'text':
      return notation.text(part.text);
    case 'data':
      return notation.data(part.data);
    default: {
      const { name, mimeType, bytes, uri } = part.file;
      const inline = bytes !== undefined;
      return inline ? notation.file(name, mimeType, bytes) : notation.link(name, mimeType, uri);
    }
  }
}

const tellParts = (message) => message?.parts.map(tellPart) ?? [];

const tellState = (status) => status.state.toUpperCase().replace('-', '_');

// What an object is shows in its `kind`: nothing else is looked at.
function tellEvent(event) {
  const ids = { task: event.taskId ?? '', context: event.contextId };
  switch (event.kind) {
    case 'task':
      return {
        id: event.id,
        task: event.id,
        context: event.contextId,
        line: `task ${tellState(event.status)}`,
        says: tellParts(event.status.message),
        artifacts: event.artifacts?.map((it) => notation.artifact(it.name, tellParts(it))) ?? [],
        history: event.history?.map((it) => `${it.role} ${tellParts(it).join('; ')}`) ?? [],
      };
    case 'message':
      return { ...ids, line: notation.message(tellParts(event)) };
    case 'status-update': {
      const line = notation.status(tellState(event.status), tellParts(event.status.message));
      return { ...ids, line };
    }
    case 'artifact-update': {
      const { artifact, append, lastChunk } = event;
      const line = notation.artifact(artifact.name, tellParts(artifact), append, lastChunk);
      return { ...ids, line, text: artifact.parts.map((part) => part.text ?? '').join('') };
    }
    default:
      throw new Error(`an event of kind ${event.kind}: ${JSON.stringify(event)}`);
  }
}

await run(new Peer(process.argv[2], process.argv[3]), ['list_tasks']);
