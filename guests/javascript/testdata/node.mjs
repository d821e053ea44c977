// Runs every program of programs.txt in this Node and prints, as JSON, what
// each wrote and returned: the oracle of TestProgramsAgreeWithNode.
import { readFileSync } from 'node:fs';

const AsyncFunction = (async () => {}).constructor;
const programs = readFileSync(new URL('programs.txt', import.meta.url), 'utf8').trim().split('\n\n');
const write = process.stdout.write.bind(process.stdout);
const results = [];
process.on('unhandledRejection', () => {});
process.removeAllListeners('warning');
for (const code of programs) {
  const result = { out: '', err: '' };
  process.stdout.write = (text) => { result.out += text; return true; };
  process.stderr.write = (text) => { result.err += text; return true; };
  try {
    const value = await new AsyncFunction(code)();
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (value !== undefined) result.value = JSON.stringify(value);
  } catch (error) {
    result.error = `${error?.name}: ${error?.message}`;
  }
  results.push(result);
}
write(JSON.stringify(results));
process.exit(0);
