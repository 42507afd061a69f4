// A `fetch` that looks at what passes: status and content type, over JSON-RPC envelope and id.

// The SDK takes the short name of JSON before the long one where it sends nothing itself.
const JSON_TYPES = ['application/json', 'application/a2a+json'];

// The errors of the protocol, with their codes over JSON-RPC.
export const CODES = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  UNSUPPORTED_OPERATION: -32004,
  INVALID_PARAMS: -32602,
};

export class Journal {
  complaints = [];
  lastError = undefined;

  fetch = async (url, init = {}) => {
    const response = await fetch(url, init);
    const request = init.body ? JSON.parse(init.body) : undefined;
    const isRpc = request?.jsonrpc !== undefined;
    const { pathname } = new URL(url);
    const call = isRpc ? request.method : `${init.method ?? 'GET'} ${pathname}`;
    const type = response.headers.get('content-type');
    if (response.status !== 200 && (isRpc || pathname.endsWith('/agent-card.json'))) {
      this.complain(call, `HTTP ${response.status}`);
    }
    if (!isRpc && response.status !== 200) {
      this.refusal(call, response.status, await response.clone().json());
    } else if (JSON_TYPES.includes(type)) {
      this.document(call, request, await response.clone().text());
    } else if (type === 'text/event-stream') {
      this.pending.push(this.stream(call, request, response.clone()));
    } else {
      this.complain(call, `content type ${type}`);
    }
    return response;
  };

  pending = [];

  // Waits until every stream was read to its end.
  async settle() {
    await Promise.all(this.pending);
    return this.complaints;
  }

  async stream(call, request, response) {
    for (const block of (await response.text()).split('\n\n').slice(0, -1)) {
      const lines = block.split('\n').filter((line) => line.startsWith('data:'));
      if (lines.length > 0) {
        this.document(call, request, lines.map((line) => line.slice(5)).join('\n'));
      }
    }
  }

  document(call, request, text) {
    const document = JSON.parse(text);
    if (request?.jsonrpc === undefined) {
      return;
    }
    this.lastError = document.error ?? this.lastError;
    const expected = ['id', 'jsonrpc', document.error ? 'error' : 'result'].sort();
    if (Object.keys(document).sort().join() !== expected.join()) {
      this.complain(call, `the envelope has ${Object.keys(document)}`);
    }
    if (document.id !== request.id) {
      this.complain(call, `the id is ${JSON.stringify(document.id)}`);
    }
  }

  // An error over HTTP+JSON. What it is stands in its details, by the names of the protocol.
  refusal(call, status, { error }) {
    if (error.code !== status) {
      this.complain(call, `the error says ${error.code}, the head ${status}`);
    }
    const info = error.details.find((detail) => detail['@type'].endsWith('ErrorInfo'));
    this.lastError = { code: CODES[info?.reason], message: error.message };
  }

  complain(call, what) {
    this.complaints.push(`${call}: ${what}`);
  }
}
