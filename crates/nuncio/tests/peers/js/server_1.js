// An agent with the official JavaScript SDK 1.x; prints its port, and runs until it is killed. It
// behaves as `../python/server_1.py` does, and takes the argument `no-streaming`.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { sdk } from './sdk.js';

const express = sdk('express');
const { AGENT_CARD_PATH, Role, TaskState } = sdk('@a2a-js/sdk');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = sdk('@a2a-js/sdk/server');
const { UserBuilder, agentCardHandler, jsonRpcHandler } = sdk('@a2a-js/sdk/server/express');

const text = (value) => part({ $case: 'text', value });

function part(content, filename = '', mediaType = '') {
  return { content, metadata: undefined, filename, mediaType };
}

// Publishes the events of one task.
class Updater {
  constructor(taskId, contextId, bus) {
    Object.assign(this, { taskId, contextId, bus });
  }

  message(value) {
    return {
      messageId: randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [text(value)],
      taskId: this.taskId,
      contextId: this.contextId,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  status(state, said) {
    const message = said === undefined ? undefined : this.message(said);
    const timestamp = new Date().toISOString();
    const status = { state: TaskState[`TASK_STATE_${state}`], message, timestamp };
    const { taskId, contextId } = this;
    this.bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
  }

  artifact(artifactId, name, parts, append = false, lastChunk = true) {
    const rest = { description: '', metadata: undefined, extensions: [] };
    const artifact = { artifactId, name, parts, ...rest };
    const { taskId, contextId } = this;
    const update = { taskId, contextId, artifact, append, lastChunk, metadata: undefined };
    this.bus.publish(AgentEvent.artifactUpdate(update));
  }
}

// Does what the first text of the task says.
class Executor {
  opened = resolvers();
  running = new Map();

  async execute({ userMessage, taskId, contextId, task }, bus) {
    const said = userMessage.parts[0].content.value;
    const updater = new Updater(taskId, contextId, bus);
    if (said === 'direct') {
      bus.publish(AgentEvent.message({ ...updater.message('Forty-two.'), taskId: '' }));
    } else {
      if (task === undefined) {
        const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined };
        const rest = { artifacts: [], history: [userMessage], metadata: undefined };
        const timestamp = new Date().toISOString();
        const made = { id: taskId, contextId, status: { ...status, timestamp }, ...rest };
        bus.publish(AgentEvent.task(made));
      }
      const order = task?.history[0].parts[0].content.value ?? said;
      await this[order](updater, said, userMessage.parts);
    }
    bus.finished();
  }

  async report(updater) {
    updater.status('WORKING', 'Looking it up');
    updater.artifact('notes', 'notes', [text('one ')], false, false);
    updater.artifact('notes', 'notes', [text('two')], true);
    const facts = part({ $case: 'data', value: { count: 42, tags: ['a', 'b'] } });
    updater.artifact('f', 'facts', [facts]);
    const inline = part({ $case: 'raw', value: Buffer.from([0, 255]) }, 'plot.png', 'image/png');
    const url = 'https://example.com/plot.svg';
    const linked = part({ $case: 'url', value: url }, '', 'image/svg+xml');
    updater.artifact('plot', 'plot', [inline, linked]);
    updater.status('COMPLETED', 'Here it is');
  }

  async ask(updater, said) {
    if (said === 'ask') {
      updater.status('INPUT_REQUIRED', 'Which colour?');
    } else {
      updater.artifact('p', 'painting', [text(`Painted it ${said}.`)]);
      updater.status('COMPLETED');
    }
  }

  async gate(updater) {
    updater.status('WORKING');
    await this.opened.promise;
    updater.artifact('g', 'gate', [text('through')]);
    updater.status('COMPLETED');
  }

  async parts(updater, said, parts) {
    updater.artifact('p', 'parts', parts);
    updater.status('COMPLETED');
  }

  async open(updater) {
    this.opened.resolve();
    updater.status('COMPLETED');
  }

  async wait(updater) {
    updater.status('WORKING');
    updater.artifact('w', 'waiting', [text('started')]);
    const cancelled = resolvers();
    this.running.set(updater.taskId, cancelled);
    await cancelled.promise;
    updater.status('CANCELED');
  }

  async fail(updater) {
    updater.status('FAILED', 'No luck');
  }

  cancelTask = async (taskId) => this.running.get(taskId)?.resolve();
}

function resolvers() {
  let resolve;
  const promise = new Promise((it) => (resolve = it));
  return { promise, resolve };
}

function card(url, streaming) {
  const skill = { id: 'obey', name: 'Obey', description: 'Obeys', tags: ['test'] };
  return {
    name: 'JavaScript agent',
    description: 'Does as it is told',
    version: '1.2.3',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    provider: undefined,
    capabilities: { streaming, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ ...skill, examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
    signatures: [],
  };
}

const app = express();
const server = createServer(app);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const agent = card(`http://127.0.0.1:${port}/rpc`, !process.argv.includes('no-streaming'));
  const handler = new DefaultRequestHandler(agent, new InMemoryTaskStore(), new Executor());
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: handler }));
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/rpc', jsonRpcHandler({ requestHandler: handler, userBuilder }));
  console.log(port);
});
