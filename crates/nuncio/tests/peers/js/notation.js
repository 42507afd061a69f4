// How events and tasks are told to the test; the words are explained in `../python/notation.py`.

import { createHash } from 'node:crypto';

const LONG_CHARACTERS = 1000;

export function text(value) {
  if (value.length > LONG_CHARACTERS) {
    return `${value.length} characters ${createHash('sha256').update(value).digest('hex')}`;
  }
  return JSON.stringify(value);
}

export const data = (value) => `data ${sorted(value)}`;

export const file = (name, mediaType, base64) =>
  `file ${name || '-'} ${mediaType || '-'} ${base64}`;

export const link = (name, mediaType, url) => `link ${name || '-'} ${mediaType || '-'} ${url}`;

export function artifact(name, parts, append = false, last = false) {
  const flags = (append ? '+' : '') + (last ? '.' : '');
  return `artifact ${name || '-'}${flags} ${parts.join('; ')}`;
}

export const status = (state, said) =>
  `status ${state}${said.length > 0 ? ` ${said.join('; ')}` : ''}`;

export const message = (parts) => `message ${parts.join('; ')}`;

// JSON with sorted names and a space behind `:` and `,`, as Python writes it.
function sorted(value) {
  if (Array.isArray(value)) {
    return `[${value.map(sorted).join(', ')}]`;
  }
  if (value !== null && typeof value === 'object') {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}: ${sorted(value[name])}`).join(', ')}}`;
  }
  return JSON.stringify(value);
}
