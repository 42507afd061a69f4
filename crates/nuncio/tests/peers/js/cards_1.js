// The official JavaScript SDK 1.x reads and writes signatures of cards. Arguments: the address of a
// card, a file with the keys to trust, a card to sign, and the private keys to sign it with, each in a
// file. Prints what became of it as one JSON object.

import { readFileSync } from 'node:fs';

import { sdk } from './sdk.js';

const { generateAgentCardSignature, verifyAgentCardSignature } = sdk('@a2a-js/sdk');
const { DefaultAgentCardResolver } = sdk('@a2a-js/sdk/client');

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const kidOf = (signature) => JSON.parse(Buffer.from(signature.protected, 'base64url')).kid;

const PATH = '.well-known/agent-card.json';

// The card as it came. The SDK takes signatures over the JSON form of cards; over its own objects it
// loses the security schemes.
const received = async (url) => (await fetch(new URL(PATH, url))).json();

// The card as the SDK's resolver gives it.
const resolved = (url) => new DefaultAgentCardResolver().resolve(url, PATH);

// Each key alone must do, and the card must reach the reader whole.
async function verify(get, url, keys) {
  const names = [];
  for (const key of keys) {
    const card = await get(`${url}/`);
    card.signatures = card.signatures.filter((it) => kidOf(it) === key.kid);
    await verifyAgentCardSignature(async (kid) => (kid === key.kid ? key : undefined))(card);
    names.push(card.name);
  }
  return names;
}

async function sign(file, keys) {
  let card = read(file);
  for (const key of keys) {
    const header = { kid: key.kid, alg: key.alg, typ: 'JOSE', jku: 'https://keys.invalid/' };
    card = await generateAgentCardSignature(key, header)(card);
  }
  return card;
}

const [url, trusted, file, ...secret] = process.argv.slice(2);
// The SDK says there what it thinks of single signatures; standard output is for the result.
console.debug = () => {};
const steps = {};
for (const [name, step] of Object.entries({
  verify: () => verify(received, url, read(trusted).keys),
  resolve: () => verify(resolved, url, read(trusted).keys),
  sign: () => sign(file, secret.map(read)),
})) {
  try {
    steps[name] = { gave: await step() };
  } catch (error) {
    steps[name] = { raised: String(error), trace: error.stack };
  }
}
console.log(JSON.stringify({ steps, complaints: [] }));
