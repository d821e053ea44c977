// Runs the program in CODE and prints what the client was asked and what came back.
// connect.mjs has the arguments.
import { client, connect, types } from './connect.mjs';

const asked = [];
client.setRequestHandler(types.ElicitRequestSchema, (request) => {
  asked.push(request.params);
  return { action: 'accept', content: JSON.parse(process.env.FORM ?? '{}') };
});
client.setRequestHandler(types.CreateMessageRequestSchema, (request) => {
  asked.push(request.params);
  return { role: 'assistant', model: 'test', content: { type: 'text', text: process.env.MODEL ?? 'a model wrote this' } };
});
await connect();
const result = await client.callTool({ name: 'execute_code', arguments: { language: 'javascript', code: process.env.CODE } });
console.log(JSON.stringify({ asked, failed: result.isError ?? false, text: result.content.map((c) => c.text ?? '').join('\n') }));
await client.close();
