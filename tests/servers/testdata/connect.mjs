// Connects clients of the official TypeScript SDK to wexec mcp. The arguments of
// the programs that use it are MODULES stdio PROGRAM ARGS…, or MODULES http URL TOKEN.
import { createRequire } from 'node:module';

const [modules, transport, target, ...rest] = process.argv.slice(2);
const load = createRequire(modules + '/');
const sdk = (path) => load('@modelcontextprotocol/sdk/' + path);

export const types = sdk('types.js');
export const overHTTP = transport === 'http';

// A client that can show forms and has a model. Over HTTP it makes requests with fetch.
export const client = new (sdk('client/index.js').Client)({ name: 'typescript', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } });

export function connect(fetch) {
  if (!overHTTP) {
    const { StdioClientTransport } = sdk('client/stdio.js');
    return client.connect(new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' }));
  }
  const { StreamableHTTPClientTransport } = sdk('client/streamableHttp.js');
  return client.connect(new StreamableHTTPClientTransport(new URL(target), { fetch, requestInit: { headers: { authorization: `Bearer ${rest[0]}` } } }));
}
