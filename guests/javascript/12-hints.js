// Hints for common mistakes.
($) => {
  const missing = {
    ReadableStream: 'streams are not available: use response.text(), .json() or .bytes(), or iterate response.body with for await',
    TransformStream: 'streams are not available: use an async generator',
    WritableStream: 'streams are not available: collect the parts in an array',
    CompressionStream: "streams are not available: import { gzipSync } from 'node:zlib'",
    DecompressionStream: "streams are not available: import { gunzipSync } from 'node:zlib'",
    URLPattern: 'match the path with a regular expression',
    WebAssembly: 'WebAssembly modules cannot be loaded',
    Temporal: 'use Date and Intl.DateTimeFormat',
    window: 'there is no browser: use globalThis',
    document: 'there is no browser and no page',
    localStorage: "nothing is kept between runs: use files in '/tmp' within a run",
    XMLHttpRequest: 'use fetch, if the policy allows the host',
    axios: 'packages are not available: use fetch, if the policy allows the host',
    alert: 'there is no screen: use console.log, or return the value',
    prompt: 'a program cannot ask the user: the caller passes args',
    _: 'lodash is not available: use methods of arrays and objects, and Object.groupBy',
    Deno: 'this is neither Deno nor Node: see the list of globals in the documentation',
    Bun: 'this is neither Bun nor Node: see the list of globals in the documentation',
    print: 'use console.log',
    None: 'this is Python: set the language to python, or write null',
    True: 'this is Python: set the language to python, or write true',
    False: 'this is Python: set the language to python, or write false',
    len: 'this is Python: set the language to python, or use .length',
    input: 'a program cannot ask the user: the caller passes args, and stdin.text() reads the input',
  };

  const looksPython = /^\s*(?:def \w+\(.*\)\s*(?:->.*)?:|from [\w.]+ import |import \w+(?: as \w+)?\s*$|elif |for \w+ in .*:\s*$|if .*[^{]:\s*$|print ["'])/m;
  const looksTyped = /^\s*(?:interface \w+|type \w+ =|enum \w+|declare |namespace \w+|abstract class)|(?:const|let|var) \w+\s*:\s*[\w<>[\]{}|]+\s*=|\(\s*\w+\??\s*:\s*\w[^)]*\)\s*(?::|=>|\{)|\bas (?:const|any|string|number|unknown)\b|\bsatisfies\b/;

  const forSyntax = (outcome, code) => {
    const line = outcome.text || '';
    if (/[\u2018\u2019\u201c\u201d\u00ab\u00bb]/.test(line)) return 'the line contains typographic quotes: use \' or "';
    if (/^\s*```/m.test(code)) return 'the code contains Markdown fences (```): remove them';
    if (/\u00a0|\u200b|\ufeff/.test(line)) return 'the line contains an invisible character, such as a no-break space';
    if (looksPython.test(line) || (looksPython.test(code) && !/[;{}]/.test(code))) return 'this looks like Python: set the language to python';
    if (looksTyped.test(line)) return 'this looks like TypeScript: set the language to typescript';
    if (/^\s*(?:return\s*\(?\s*)?<[A-Za-z]/.test(line)) return 'JSX is not supported: build the text with template strings';
    if (/\bawait\b/.test(line) && /await|unexpected token|expecting/.test(outcome.message)) {
      return 'await works at the top level and in async functions: mark the enclosing function async';
    }
    if (/^\s*(?:await\s+)?using\s+\w/.test(line)) return 'using is available in TypeScript: set the language to typescript, or write const and try … finally';
    if (/^\s*import\b/.test(line)) return 'import declarations must be at the top level; elsewhere use await import(…)';
    return undefined;
  };

  const forgotAwait = (input) => {
    const servers = ['tools\\.\\w+', ...(Array.isArray(input.servers) ? input.servers.filter((s) => /^\w+$/.test(s)) : [])];
    const call = new RegExp(`=\\s*(?:${servers.join('|')})\\.\\w+\\(`);
    return call.test(input.code);
  };

  const arrayMethods = new Set(['map', 'filter', 'forEach', 'reduce', 'reduceRight', 'find', 'findIndex', 'some', 'every', 'sort', 'slice',
    'push', 'flatMap', 'flat', 'join', 'concat', 'reverse', 'splice', 'includes', 'indexOf', 'at']);
  const known = () => [Array, String, Object, Map, Set, Promise, Number, Date, RegExp]
    .flatMap((type) => [...Object.getOwnPropertyNames(type.prototype), ...Object.getOwnPropertyNames(type)]);

  // what to call instead of `whole`, which is not a function
  const forCall = (whole) => {
    const [, owner, name] = /^(.*)\.([\w$]+)$/s.exec(whole) ?? [];
    if (name === undefined) return undefined;
    if (/^tools\.\w+\.\w+\(/.test(owner)) return `a tool call returns a promise: write (await ${owner}).${name}`;
    if (/^fetch\(|\bfetch\(.*\)$/.test(owner)) return `fetch returns a promise: write (await ${owner}).${name}()`;
    if (Object.hasOwn(globalThis, owner) && typeof globalThis[owner] === 'object') {
      const near = $.nearest(name, Object.getOwnPropertyNames(globalThis[owner]));
      return near ? `did you mean ${owner}.${near}?` : undefined;
    }
    if (arrayMethods.has(name)) {
      return `only arrays have .${name}: use the field that holds the list, or Object.values(…) or Object.entries(…) for an object`;
    }
    const near = $.nearest(name, known());
    return near && near !== name ? `did you mean .${near}()?` : undefined;
  };

  $.hintFor = (outcome, input) => {
    const code = input && typeof input.code === 'string' ? input.code : '';
    const { message } = outcome;
    if (outcome.code === 'guest.syntax') return forSyntax(outcome, code);
    if (outcome.name === 'ReferenceError') {
      const name = /^(\S+) is not defined$/.exec(message);
      if (!name) return undefined;
      if (Object.hasOwn(missing, name[1])) return missing[name[1]];
      const near = $.nearest(name[1], [...Object.getOwnPropertyNames(globalThis), ...((input && input.servers) || [])]);
      return near ? `did you mean ${near}?` : undefined;
    }
    if (outcome.name === 'TypeError') {
      if (forgotAwait(input || { code: '' }) && /undefined|not a function|not iterable/.test(message)) {
        return 'a tool call returns a promise: write await before it';
      }
      const called = /^(.+) is not a function$/s.exec(message);
      if (called) return forCall(called[1]);
      if (/^(?:undefined|null) is not iterable|^Cannot destructure /.test(message)) {
        return 'the value is undefined or null: print what it came from with console.log';
      }
      if (message === 'object is not iterable') return 'to iterate an object, use Object.keys(…), Object.values(…) or Object.entries(…)';
      if (message.startsWith('Cannot mix BigInt')) return 'convert one of the two with Number(x) or BigInt(x)';
      if (/^(?:cannot read propert|Cannot read propert)/.test(message)) {
        if (/\bcontent\b|\bstructuredContent\b/.test(outcome.text ?? '')) {
          return "a tool's answer is unwrapped already: use it without content[0].text and without JSON.parse";
        }
        return 'the value is undefined or null: use ?. if it is optional, or print it with console.log';
      }
    }
    if (outcome.name === 'RangeError' && message === 'Maximum call stack size exceeded') return 'use a loop, or keep the stack in an array';
    if (outcome.name === 'SyntaxError' && /^unexpected token: '(?:undefined|\[object)|"(?:undefined|\[object Object\])" is not valid JSON/.test(message)) {
      return 'JSON.parse takes a string: the value may be undefined, or already an object';
    }
    return undefined;
  };

  // the closest of the names by edit distance, undefined if none is close
  $.nearest = (name, names) => {
    const wanted = String(name).toLowerCase(), letters = [...wanted].sort().join('');
    let best, least = Math.min(3, Math.max(1, wanted.length >> 2) + 1);
    for (const candidate of names) {
      const text = candidate.toLowerCase();
      if (Math.abs(text.length - wanted.length) >= least || text.length < 2) continue;
      if (text.length === wanted.length && text !== wanted && [...text].sort().join('') === letters) return candidate; // two letters are swapped
      let row = Array.from({ length: text.length + 1 }, (_, i) => i);
      for (let i = 1; i <= wanted.length; i++) {
        const next = [i];
        for (let j = 1; j <= text.length; j++) {
          next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (wanted[i - 1] === text[j - 1] ? 0 : 1));
        }
        row = next;
      }
      if (row[text.length] < least) {
        best = candidate;
        least = row[text.length];
      }
    }
    return best;
  };
};
