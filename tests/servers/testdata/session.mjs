// One session of a client, from its list of tools to a cancelled run. connect.mjs has
// the arguments; FOLDER is a folder that programs may read. Prints what was seen.
import { writeFileSync } from 'node:fs';
import { client, connect, overHTTP, types } from './connect.mjs';

const seen = { asked: [] };
client.setRequestHandler(types.ElicitRequestSchema, ({ params }) => {
  seen.asked.push(params.message.split('\n')[0]);
  return { action: 'accept', content: { answer: params.message.includes('a: 1\n') ? 'yes' : 'no' } };
});
client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => {
  seen.asked.push(params.messages[0].content.text.includes('hello'));
  return { role: 'assistant', model: 'test', content: { type: 'text', text: 'a model wrote this' } };
});

// While cut is set, the connection of a call is cut after its first progress. gate is
// the file that is made when the client asks for the rest.
let cut, gate;
async function cuttingFetch(url, init) {
  const resumed = gate && new Headers(init?.headers).has('last-event-id');
  if (resumed) writeFileSync(gate, '');
  const response = await fetch(url, init);
  if (resumed) seen.resumed = response.status;
  if (!cut || init.method !== 'POST') return response;
  const reader = response.body.getReader();
  const text = new TextDecoder();
  let all = '';
  return new Response(new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      controller.enqueue(value);
      all += text.decode(value, { stream: true });
      if (!/notifications\/progress[^\n]*\n\n/.test(all) || !cut) return;
      cut = false;
      await reader.cancel();
      controller.error(new Error('the connection was cut'));
    },
  }), { status: response.status, headers: response.headers });
}

// run runs a program and returns its outcome, with the texts of its progress.
async function run(code, args, options) {
  const progress = [];
  const onprogress = (p) => {
    if (p.total >= p.progress && p.message) progress.push(p.message);
    options?.onprogress?.(p);
  };
  const result = await client.callTool({ name: 'execute_code', arguments: { language: 'javascript', code, args } }, undefined, { ...options, onprogress });
  return { ...result.structuredContent, progress };
}

await connect(cuttingFetch);
seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();

// The SDK drops progress that arrives together with the answer, so programs wait
// for the file args.gate, which the client makes.
const untilOpen = 'while (!require("fs").existsSync(args.gate)) await new Promise((wake) => setTimeout(wake, 20));';
const half = process.env.FOLDER + '/half';
const steps = await run(`await tools.everything.trigger_long_running_operation({duration: 0.1, steps: 4});
progress(1, 2, "half");
${untilOpen}
return "done"`, { gate: half }, { onprogress: (p) => p.message === '1 of 2 half' && writeFileSync(half, '') });
seen.progress = [steps.value, steps.progress.includes('1 of 2 half')];

seen.approved = (await run('return await tools.everything.get_sum({a: 1, b: 2})')).value;
const refused = await run('await tools.everything.get_sum({a: 2, b: 2})');
seen.refused = [refused.status, refused.error?.code];
seen.sampled = (await run('return String(await tools.everything.trigger_sampling_request({prompt: "hello"})).includes("a model wrote this")')).value;

const uri = (await client.listResources()).resources.map((r) => r.uri).find((u) => u.startsWith('wexec://resources/everything/'));
seen.resource = (await client.readResource({ uri })).contents[0].text.length > 0;
const one = 'wexec://resources/everything/demo://resource/dynamic/text/7';
seen.template = (await client.readResource({ uri: one })).contents[0].text.startsWith('Resource 7');
seen.prompts = (await client.listPrompts()).prompts.map((p) => p.name).filter((name) => name === 'everything.args-prompt' || name === 'code-mode-claude');
seen.prompt = (await client.getPrompt({ name: 'everything.args-prompt', arguments: { city: 'Paris' } })).messages[0].content.text;

if (overHTTP) {
  const file = process.env.FOLDER + '/gate';
  [cut, gate] = [true, file];
  const code = `progress(1, 2, "before the cut");
${untilOpen}
return "not cancelled"`;
  const whole = await run(code, { gate: file });
  gate = undefined;
  seen.cut = [whole.value, whole.progress.includes('1 of 2 before the cut')];
}

const stop = new AbortController();
const endless = 'progress(1, 2, "begun"); while (true) await new Promise((wake) => setTimeout(wake, 20))';
seen.cancelled = await run(endless, {}, { signal: stop.signal, onprogress: (p) => p.message === '1 of 2 begun' && stop.abort('enough') })
  .then((result) => result.status, (error) => String(error.message ?? error).includes('enough'));
seen.after = (await run('return 6 * 7')).value;
console.log(JSON.stringify(seen));
await client.close();
