// A client with the official TypeScript SDK that shows forms and has a model:
// node client.mjs MODULES stdio PROGRAM ARGS…, or node client.mjs MODULES http URL TOKEN.
// It runs the program in CODE and prints what it was asked and what came back.
import { createRequire } from 'node:module';

const [modules, transport, target, ...rest] = process.argv.slice(2);
const load = createRequire(modules + '/');
const sdk = (path) => load('@modelcontextprotocol/sdk/' + path);
const { Client } = sdk('client/index.js');
const types = sdk('types.js');

const client = new Client({ name: 'typescript', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } });
const asked = [];
client.setRequestHandler(types.ElicitRequestSchema, (request) => {
  asked.push(request.params);
  return { action: 'accept', content: JSON.parse(process.env.FORM ?? '{}') };
});
client.setRequestHandler(types.CreateMessageRequestSchema, (request) => {
  asked.push(request.params);
  return { role: 'assistant', model: 'test', content: { type: 'text', text: process.env.MODEL ?? 'a model wrote this' } };
});
if (transport === 'stdio') {
  const { StdioClientTransport } = sdk('client/stdio.js');
  await client.connect(new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' }));
} else {
  const { StreamableHTTPClientTransport } = sdk('client/streamableHttp.js');
  await client.connect(new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { authorization: `Bearer ${rest[0]}` } } }));
}
const result = await client.callTool({ name: 'execute_code', arguments: { language: 'javascript', code: process.env.CODE } });
console.log(JSON.stringify({ asked, failed: result.isError ?? false, text: result.content.map((c) => c.text ?? '').join('\n') }));
await client.close();
