// Runs one peer in Node: reads a specification as JSON from standard input and writes
// one line of JSON per step.
import fs from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { engines } from './engines.mjs';

const say = console.log.bind(console);
console.log = console.error = () => { };  // some peers log

async function open(spec) {
  const answers = {};
  for (const [name, file] of Object.entries(spec.answers)) answers[name] = fs.readFileSync(file, 'utf8');
  return engines[spec.peer](answers, spec);
}

// ran returns the value of a program and its time. If whole is true, the time includes
// creating and closing the sandbox.
async function ran(peer, program, whole) {
  const begun = performance.now();
  const box = await peer.fresh();
  const made = performance.now();
  const out = String(await box.run(program));
  const done = performance.now();
  await box.close();
  return { out, ms: whole ? performance.now() - begun : done - made };
}

function privateMemory(pid = 'self') {
  let kib = 0;
  for (const line of fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').split('\n'))
    if (line.startsWith('Private_')) kib += Number(line.split(/\s+/)[1]);
  return kib;
}

async function settle() {
  for (let i = 0; i < 3; i++) { globalThis.gc?.(); await new Promise((r) => setTimeout(r, 40)); }
}

async function counted(peer, program, seconds) {
  let n = 0;
  const begun = performance.now();
  while (performance.now() - begun < seconds * 1000) {
    await ran(peer, program, true);
    if (++n % 50 === 0) await new Promise(setImmediate);
  }
  return n / (performance.now() - begun) * 1000;
}

// rate uses one thread per processor. A peer that is a server gets as many concurrent
// requests.
async function rate(peer, spec, step) {
  if (peer.server) {
    const all = await Promise.all(Array.from({ length: step.threads }, () => counted(peer, step.programs[0], step.seconds)));
    return all.reduce((a, b) => a + b, 0);
  }
  const threads = Array.from({ length: step.threads }, () => new Worker(fileURLToPath(import.meta.url), { workerData: { spec, step } }));
  const next = (w) => new Promise((done, fail) => { w.once('message', done); w.once('error', fail); });
  await Promise.all(threads.map(next));
  const all = await Promise.all(threads.map((w) => { const r = next(w); w.postMessage('go'); return r; }));
  return all.reduce((a, b) => a + b, 0);
}

async function take(peer, spec, step) {
  const taken = { name: step.name, values: [], out: '' };
  switch (step.kind) {
    case 'whole': case 'inside': {
      for (let i = 0; i < step.warm; i++) await ran(peer, step.programs[0], true);
      for (let i = 0; i < step.n; i++) {
        const { out, ms } = await ran(peer, step.programs[0], step.kind === 'whole');
        taken.out = out;
        taken.values.push(ms);
      }
      break;
    }
    case 'rate': taken.values.push(await rate(peer, spec, step)); break;
    case 'memory': {
      await ran(peer, step.programs[0], true);
      await settle();
      const before = privateMemory(peer.pid), kept = [];
      for (let i = 0; i < step.n; i++) {
        const box = await peer.fresh(i);
        taken.out = String(await box.run(step.programs[0]));
        kept.push(box);
      }
      await settle();
      taken.values.push((privateMemory(peer.pid) - before) / kept.length);
      for (const box of kept) await box.close();
      break;
    }
    case 'probe':
      for (const program of step.programs) taken.out = (await ran(peer, program, true)).out;
  }
  return taken;
}

if (isMainThread) {
  const spec = JSON.parse(fs.readFileSync(0, 'utf8'));
  let peer, failed;
  try { peer = await open(spec); } catch (e) { failed = e; }
  for (const step of spec.steps) {
    let taken;
    try {
      if (failed) throw failed;
      taken = await take(peer, spec, step);
    } catch (e) { taken = { name: step.name, values: [], error: String(e?.message ?? e).split('\n')[0].slice(0, 200) }; }
    say(JSON.stringify(taken));
  }
  peer?.end?.();
  process.exit(0);
} else {
  const { spec, step } = workerData;
  const peer = await open(spec);
  await ran(peer, step.programs[0], true);
  parentPort.postMessage('ready');
  await new Promise((r) => parentPort.once('message', r));
  parentPort.postMessage(await counted(peer, step.programs[0], step.seconds));
  setTimeout(() => process.exit(), 0);
}
