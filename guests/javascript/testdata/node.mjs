// Runs every program of programs.txt and agents.txt in this Node and prints, as
// JSON, what each wrote and returned: the oracle of TestProgramsAgreeWithNode.
import { readFileSync } from 'node:fs';

const AsyncFunction = (async () => {}).constructor;
const programsOf = (file) => readFileSync(new URL(file, import.meta.url), 'utf8').trim().split('\n\n');
const programs = [...programsOf('programs.txt'), ...programsOf('agents.txt')];
// a program here is a function's body, in which an import is a call
const called = (code) => code.replace(/^import (.+) from ('.*');$/gm, (all, names, from) => {
  if (names.startsWith('* as ')) return `const ${names.slice(5)} = await import(${from});`;
  if (names.startsWith('{')) return `const ${names.replace(/ as /g, ': ')} = await import(${from});`;
  return `const ${names} = (await import(${from})).default;`;
});
const write = process.stdout.write.bind(process.stdout);
const results = [];
process.on('unhandledRejection', () => {});
setInterval(() => {}, 1000); // AbortSignal.timeout alone keeps no process alive
process.removeAllListeners('warning');
for (const code of programs) {
  const result = { out: '', err: '' };
  process.stdout.write = (text) => { result.out += text; return true; };
  process.stderr.write = (text) => { result.err += text; return true; };
  try {
    const value = await new AsyncFunction(called(code))();
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (value !== undefined) result.value = JSON.stringify(value);
  } catch (error) {
    result.error = `${error?.name}: ${error?.message}`;
  }
  results.push(result);
}
write(JSON.stringify(results));
process.exit(0);
