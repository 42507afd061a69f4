// The official JavaScript SDK 1.x as a client of the gateway whose address is the first argument; the
// second one may be the binding that it speaks, `rest` or `grpc`.

import { randomUUID } from 'node:crypto';

import { Journal } from './journal.js';
import * as notation from './notation.js';
import { run } from './scenario.js';
import { sdk } from './sdk.js';

const { Role, TaskState, taskStateToJSON, roleToJSON } = sdk('@a2a-js/sdk');
const {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} = sdk('@a2a-js/sdk/client');
const { GrpcTransportFactory } = sdk('@a2a-js/sdk/client/grpc');

const TRANSPORTS = {
  rest: (fetchImpl) => new RestTransportFactory({ fetchImpl }),
  grpc: () => new GrpcTransportFactory(),
  jsonrpc: (fetchImpl) => new JsonRpcTransportFactory({ fetchImpl }),
};

// What the scenario needs, said in the SDK's own terms.
class Peer {
  journal = new Journal();
  clients = new Map();

  constructor(url, binding = 'jsonrpc') {
    this.url = url;
    const fetchImpl = this.journal.fetch;
    this.resolver = new DefaultAgentCardResolver({ fetchImpl });
    this.factory = new ClientFactory({
      ...ClientFactoryOptions.default,
      cardResolver: this.resolver,
      transports: [TRANSPORTS[binding](fetchImpl)],
    });
  }

  // The resolver takes an address relative to its base by the rules of URLs: with a slash.
  base = (agent) => `${this.url}/agents/${agent}/`;

  async client(agent) {
    if (!this.clients.has(agent)) {
      const card = await this.resolver.resolve(this.base(agent), '.well-known/agent-card.json');
      this.clients.set(agent, await this.factory.createFromAgentCard(card));
    }
    return this.clients.get(agent);
  }

  async card(agent) {
    const card = await this.resolver.resolve(this.base(agent), '.well-known/agent-card.json');
    return {
      name: card.name,
      description: card.description,
      interfaces: card.supportedInterfaces.map((it) => [
        it.protocolBinding,
        it.protocolVersion,
        it.url,
      ]),
      streaming: card.capabilities.streaming,
      skills: card.skills.map((skill) => skill.id),
      modes: [card.defaultInputModes, card.defaultOutputModes],
    };
  }

  async send(agent, how) {
    const answer = await (await this.client(agent)).sendMessage(request(how));
    return 'status' in answer ? tellTask(answer) : tellMessage(answer);
  }

  async *stream(agent, how) {
    const client = await this.client(agent);
    for await (const event of client.sendMessageStream(request(how))) {
      yield tellEvent(event);
    }
  }

  async get(agent, id, historyLength) {
    const client = await this.client(agent);
    return tellTask(await client.getTask({ tenant: '', id, historyLength }));
  }

  async list(agent, { context = '', state, size, token = '', artifacts }) {
    const client = await this.client(agent);
    const page = await client.listTasks({
      tenant: '',
      contextId: context,
      status: state ? TaskState[`TASK_STATE_${state}`] : TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: size,
      pageToken: token,
      includeArtifacts: artifacts,
    });
    return { tasks: page.tasks.map(tellTask), token: page.nextPageToken, total: page.totalSize };
  }

  async cancel(agent, id) {
    const client = await this.client(agent);
    return tellTask(await client.cancelTask({ tenant: '', id, metadata: undefined }));
  }

  async *subscribe(agent, id) {
    const client = await this.client(agent);
    for await (const event of client.resubscribeTask({ tenant: '', id })) {
      yield tellEvent(event);
    }
  }
}

function request({ text, parts, task = '', context = '', wait = true }) {
  return {
    tenant: '',
    message: {
      messageId: randomUUID(),
      role: Role.ROLE_USER,
      parts: (parts ?? [text]).map(makePart),
      taskId: task,
      contextId: context,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: !wait,
    },
    metadata: undefined,
  };
}

function makePart(content) {
  const part = { metadata: undefined, filename: '', mediaType: '' };
  if (typeof content === 'string') {
    return { ...part, content: { $case: 'text', value: content } };
  }
  if (Buffer.isBuffer(content)) {
    const named = { ...part, filename: 'two.bin', mediaType: 'application/octet-stream' };
    return { ...named, content: { $case: 'raw', value: content } };
  }
  return { ...part, content: { $case: 'data', value: content } };
}

function tellPart({ content, filename, mediaType }) {
  switch (content?.$case) {
    case 'text':
      return notation.text(content.value);
    case 'data':
      return notation.data(content.value);
    case 'raw':
      return notation.file(filename, mediaType, Buffer.from(content.value).toString('base64'));
    default:
      return notation.link(filename, mediaType, content.value);
  }
}

const tellParts = (message) => message?.parts.map(tellPart) ?? [];

const tellState = (status) => taskStateToJSON(status.state).replace('TASK_STATE_', '');

function tellTask(task) {
  const role = (message) => roleToJSON(message.role).replace('ROLE_', '').toLowerCase();
  return {
    id: task.id,
    context: task.contextId,
    line: `task ${tellState(task.status)}`,
    says: tellParts(task.status.message),
    artifacts: task.artifacts.map((it) => notation.artifact(it.name, tellParts(it))),
    history: task.history.map((it) => `${role(it)} ${tellParts(it).join('; ')}`),
  };
}

function tellMessage(message) {
  const line = notation.message(tellParts(message));
  return { line, task: message.taskId, context: message.contextId };
}

function tellEvent({ payload }) {
  const { $case, value } = payload;
  switch ($case) {
    case 'task':
      return { ...tellTask(value), task: value.id };
    case 'message':
      return tellMessage(value);
    case 'statusUpdate': {
      const line = notation.status(tellState(value.status), tellParts(value.status.message));
      return { line, task: value.taskId, context: value.contextId };
    }
    default: {
      const { artifact, append, lastChunk } = value;
      const line = notation.artifact(artifact.name, tellParts(artifact), append, lastChunk);
      const texts = artifact.parts.filter((part) => part.content.$case === 'text');
      const text = texts.map((part) => part.content.value).join('');
      return { line, text, task: value.taskId, context: value.contextId };
    }
  }
}

await run(new Peer(process.argv[2], process.argv[3]));
