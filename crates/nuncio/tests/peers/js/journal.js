// A `fetch` that looks at what passes: envelope, id, status, content type.

export class Journal {
  complaints = [];
  lastError = undefined;

  fetch = async (url, init = {}) => {
    const response = await fetch(url, init);
    const request = init.body ? JSON.parse(init.body) : undefined;
    const call = request?.method ?? new URL(url).pathname;
    const type = response.headers.get('content-type');
    if (response.status !== 200) {
      this.complain(call, `HTTP ${response.status}`);
    }
    if (type === 'application/json') {
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
    if (request === undefined) {
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

  complain(call, what) {
    this.complaints.push(`${call}: ${what}`);
  }
}
