// The reference server of MCP at a port that the system gives, which is the first line it prints: by itself it
// wants to be told a port, and does not tell which one it got.

import { createRequire } from 'node:module';
import { Server } from 'node:net';
import { pathToFileURL } from 'node:url';

import { sdk } from './sdk.js';

const { log } = console;
const listen = Server.prototype.listen;
Server.prototype.listen = function (_, ...rest) {
  this.once('listening', () => log(this.address().port));
  return listen.call(this, 0, '127.0.0.1', ...rest);
};

const about = sdk.resolve('@modelcontextprotocol/server-everything/package.json');
const main = createRequire(about).resolve('./dist/index.js');
// Its own words go where nobody takes them for the port.
console.log = console.error;
process.argv.splice(2, Infinity, 'streamableHttp');
await import(pathToFileURL(main));
