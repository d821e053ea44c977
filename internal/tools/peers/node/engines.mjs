// The peers that run inside Node. fresh() returns a new sandbox with run(program) and
// close().
import fs from 'node:fs';
import http from 'node:http';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const file = (name) => new URL(`./node_modules/${name}`, import.meta.url);

// quickjs-emscripten: one module, with a runtime and a context per sandbox.
function emscripten(quickjs, tool) {
  return {
    fresh() {
      const runtime = quickjs.newRuntime(), vm = runtime.newContext();
      const call = vm.newFunction('hostCall', (n, j) => vm.newString(tool(vm.getString(n), vm.getString(j))));
      vm.setProp(vm.global, 'hostCall', call);
      call.dispose();
      return {
        run(program) { const h = vm.unwrapResult(vm.evalCode(program)); const out = vm.dump(h); h.dispose(); return out; },
        close() { vm.dispose(); runtime.dispose(); },
      };
    },
  };
}

// workerd with a dynamic worker per sandbox, called over loopback.
async function workerd(spec) {
  const port = spec.port;
  const server = spawn(new URL(await import.meta.resolve('@cloudflare/workerd-linux-64/bin/workerd')).pathname,
    ['serve', 'workerd.capnp', '--experimental', `--socket-addr=http=127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'inherit'] });
  process.on('exit', () => server.kill());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  const ask = (path, body) => new Promise((done, fail) => {
    const req = http.request({ host: '127.0.0.1', port, path, method: 'POST', agent }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (d) => { text += d; });
      res.on('end', () => res.statusCode === 200 ? done(text) : fail(new Error(text)));
    });
    req.on('error', fail);
    req.end(body);
  });
  for (let tries = 0; ; tries++) {
    try { await ask('/ready', ''); break; } catch (e) { if (tries > 500) throw e; await new Promise((r) => setTimeout(r, 10)); }
  }
  return {
    server: true, pid: server.pid, end: () => server.kill(),
    fresh: (kept) => ({ run: (program) => ask(kept === undefined ? '/run' : `/run?keep=${kept}`, program), close() { } }),
  };
}

export const engines = {
  'node:vm'(answers) {
    const vm = require('node:vm');
    return { fresh() { const c = vm.createContext({ hostCall: (n) => answers[n] }); return { run: (p) => vm.runInContext(p, c), close() { } }; } };
  },
  'isolated-vm'(answers) {
    const ivm = require('isolated-vm');
    return {
      fresh() {
        const isolate = new ivm.Isolate({ memoryLimit: 512 }), context = isolate.createContextSync();
        context.global.setSync('hostCall', new ivm.Callback((n) => answers[n]));
        return { run: (p) => context.evalSync(p), close() { isolate.dispose(); } };
      },
    };
  },
  async 'quickjs-emscripten'(answers) {
    return emscripten(await require('quickjs-emscripten').getQuickJS(), (n) => answers[n]);
  },
  async 'quickjs-wasi'(answers) {
    const { QuickJS } = await import('quickjs-wasi');
    const wasm = await WebAssembly.compile(fs.readFileSync(file('quickjs-wasi/quickjs.wasm')));
    const bind = (vm) => (n) => vm.newString(answers[n.toString()]);
    const first = await QuickJS.create({ wasm });
    const call = first.newFunction('hostCall', bind(first));
    first.setProp(first.global, 'hostCall', call);
    call.dispose();
    const snapshot = first.snapshot();
    first.dispose();
    return {
      async fresh() {
        const vm = await QuickJS.restore(snapshot, { wasm });
        vm.registerHostCallback('hostCall', bind(vm));
        return { run(p) { const h = vm.evalCode(p); const out = vm.dump(h); h.dispose(); return out; }, close() { vm.dispose(); } };
      },
    };
  },
  async '@utcp/code-mode'(answers) {
    const { CodeModeUtcpClient } = await import('@utcp/code-mode');
    const { addFunctionToUtcpDirectCall } = await import('@utcp/direct-call');
    addFunctionToUtcpDirectCall('manual', async () => ({
      utcp_version: '0.2.0', tools: Object.keys(answers).map((name) => ({
        name, description: name, inputs: { type: 'object', properties: {} }, outputs: { type: 'object', properties: {} },
        tool_call_template: { call_template_type: 'direct-call', callable_name: name },
      })),
    }));
    for (const name of Object.keys(answers)) addFunctionToUtcpDirectCall(name, async () => JSON.parse(answers[name]));
    const client = await CodeModeUtcpClient.create();
    await client.registerManual({ name: 'peer', call_template_type: 'direct-call', callable_name: 'manual' });
    return {
      fresh: () => ({
        async run(p) {
          const { result, logs } = await client.callToolChain(p, 60_000);
          if (result === null || result === undefined) throw new Error(logs.join(' '));
          return result;
        }, close() { },
      }),
    };
  },
  workerd: (_, spec) => workerd(spec),
  async 'Pyodide, new globals'(answers) {
    const { loadPyodide } = await import('pyodide');
    const py = await loadPyodide(), dict = py.globals.get('dict');
    return {
      fresh() {
        const globals = dict();
        globals.set('hostCall', (n) => answers[n]);
        return { run: (p) => py.runPython(p + '\nresult', { globals }), close() { globals.destroy(); } };
      },
    };
  },
  async 'Pyodide, new interpreter'(answers) {
    const { loadPyodide } = await import('pyodide');
    return {
      async fresh() {
        const py = await loadPyodide();
        py.globals.set('hostCall', (n) => answers[n]);
        return { run: (p) => py.runPython(p + '\nresult'), close() { } };
      },
    };
  },
  async Monty(answers) {
    const { Monty } = await import('@pydantic/monty');
    return {
      fresh: () => ({
        run(p) { return new Monty(p + '\nresult').run({ externalFunctions: { hostCall: (n) => answers[n] } }); },
        close() { },
      }),
    };
  },
};
