// Resolves imports: modules of the platform, tools, files next to the
// program, and pure JavaScript packages.
($) => {
  const viaFetch = 'use fetch, if the policy allows the host', oneThread = 'there is one thread: run tool calls concurrently with Promise.all';
  const hints = {
    child_process: 'a program cannot start processes: use a tool', net: viaFetch, http: viaFetch, https: viaFetch, http2: viaFetch, dns: viaFetch, tls: viaFetch, dgram: viaFetch,
    axios: viaFetch, got: viaFetch, ky: viaFetch, superagent: viaFetch, request: viaFetch, express: 'a program cannot serve: return the value',
    worker_threads: oneThread, cluster: oneThread, async_hooks: 'there is no context across await: pass the value as an argument',
    vm: 'there is one global scope: use import to load files next to the program', v8: 'use structuredClone to copy a value',
    sqlite: 'write the program in Python, which has sqlite3', 'better-sqlite3': 'write the program in Python, which has sqlite3', test: 'use node:assert, and call the tests yourself',
    lodash: 'write Object.groupBy(list, (item) => item.key) to group, list.toSorted((a, b) => a.key - b.key) to sort, and methods of arrays for the rest',
    moment: 'use new Date(text), toISOString() and Intl.DateTimeFormat', dayjs: 'use new Date(text), toISOString() and Intl.DateTimeFormat',
    'date-fns': 'use new Date(text), toISOString() and Intl.DateTimeFormat', luxon: 'use new Date(text), toISOString() and Intl.DateTimeFormat',
    uuid: 'use crypto.randomUUID()', nanoid: 'use crypto.randomUUID()', chalk: "use styleText of 'node:util'",
    zod: 'check values in your own code, such as if (typeof value.name !== "string") throw new TypeError("name")', ajv: 'check values in your own code',
    'csv-parse': "use text.trim().split('\\n').map((line) => line.split(','))", papaparse: "use text.trim().split('\\n').map((line) => line.split(','))",
    'fs-extra': "use 'node:fs/promises'", glob: "use readdir of 'node:fs/promises' with {recursive: true}", 'p-limit': 'use mapLimit(items, 5, async (item) => …)',
  };
  // packages whose work is done by something that is there
  const standIns = {
    'node-fetch': () => $.define(Object.assign((...given) => fetch(...given), { Headers, Request, Response }), 'default', fetch), 'cross-fetch': () => standIns['node-fetch'](),
    'isomorphic-fetch': () => standIns['node-fetch'](), undici: () => ({ fetch, Headers, Request, Response }),
    dotenv: () => ({ config: () => ({ parsed: {} }) }), 'dotenv/config': () => ({}),
  };

  // JSON files that the host does not let a program import unless the policy allows it
  const withheld = /(?:credential|secret|password|service[-_]?account)[^/]*\.json$/i;

  // made when first imported
  const builtins = {
    ...$.node,
    fs: () => $.fs,
    'fs/promises': () => $.fs.promises,
    path: () => $.path,
    'path/posix': () => $.path,
    assert: () => $.assert,
    'assert/strict': () => $.assert.strict,
    crypto: () => ({ ...$.hashes, subtle: crypto.subtle, randomUUID: crypto.randomUUID, getRandomValues: crypto.getRandomValues, webcrypto: crypto,
      randomBytes: (n) => Buffer.from($.random(n)), randomInt: (low, high) => (high === undefined ? Math.floor(Math.random() * low) : low + Math.floor(Math.random() * (high - low))) }),
    perf_hooks: () => ({ performance }),
    console: () => console,
    module: () => ({ createRequire: (base) => requireFrom(base instanceof URL || String(base).startsWith('file:') ? $.node.url().fileURLToPath(base) : String(base)),
      builtinModules: Object.keys(builtins), isBuiltin: (name) => Object.hasOwn(builtins, bare(name)) }),
    process: () => $.process,
    tools: () => {
      const values = { ...$.helpers, tools: $.tools };
      for (const name of $.serverNames) values[name] = $.server(name);
      return $.define(values, 'default', $.tools);
    },
  };
  const made = new Map();
  const builtin = (name) => {
    if (!made.has(name) || name === 'tools') made.set(name, (builtins[name] ?? standIns[name])());
    return made.get(name);
  };
  const bare = (name) => (name.startsWith('node:') ? name.slice(5) : name);

  // the program's file as the program sees it
  const programFile = () => $.path.resolve($.input.cwd || '/tmp', $.path.basename($.input.file));

  // ---- the place of an import, for its error ----
  // the program's file by the name that the caller gave it
  const asGiven = (file) => ($.input && file === `${$.input.root}/${$.path.basename($.input.file)}` ? $.input.file : file);
  const placed = (error, name, base) => {
    base = asGiven(base);
    const code = $.input && (base === $.input.file ? $.input.code : $.readSource(base));
    const at = typeof code === 'string' ? [`'${name}'`, `"${name}"`, `\`${name}\``].map((text) => code.indexOf(text)).filter((i) => i >= 0) : [];
    if (at.length > 0) {
      const before = code.slice(0, Math.min(...at)).split('\n');
      $.define(error, 'fileName', base);
      $.define(error, 'lineNumber', before.length);
      $.define(error, 'columnNumber', before[before.length - 1].length + 1);
    }
    return error;
  };
  const notFound = (name, base, hint, what = 'module') => {
    base = asGiven(base);
    const error = new Error(`Cannot find ${what} '${name}' imported from ${base}`);
    error.code = 'ERR_MODULE_NOT_FOUND';
    $.define(error, 'hint', hint);
    return placed(error, name, base);
  };

  // ---- files ----
  const kindOf = (path) => {
    const status = $.fileStatus(path, true);
    return typeof status === 'string' ? undefined : status[0];
  };
  const isAddon = (file) => typeof file === 'string' && file.endsWith('.node');
  const endings = ['', '.js', '.ts', '.mjs', '.cjs', '.json', '.mts', '/index.js', '/index.ts', '/index.mjs', '/index.json'];
  const fileAt = (path) => {
    for (const ending of endings) if (kindOf(path + ending) === 'file') return path + ending;
    // './a.js' written for a file a.ts
    const typed = path.replace(/\.([cm]?)js$/, '.$1ts');
    return typed !== path && kindOf(typed) === 'file' ? typed : undefined;
  };
  const readJSON = (path) => {
    const text = $.readSource(path);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new SyntaxError(`${path}: ${error.message}`);
    }
  };

  // packages that build or load native code
  const builders = ['node-gyp', 'node-gyp-build', 'prebuild-install', 'bindings', 'nan', 'node-addon-api', 'node-pre-gyp', '@mapbox/node-pre-gyp'];
  const refuseAddon = (title, name, base) => {
    const error = new Error(`the package '${title}' is a native addon: only pure JavaScript is supported`);
    $.define(error, 'hint', 'use a package written in pure JavaScript, or a tool');
    error.code = 'ERR_DLOPEN_FAILED';
    throw placed(error, name, base);
  };

  // The target of a path in the exports of a package.json. Conditions decide
  // between several targets, in the order of the file.
  const imported = ['import', 'module', 'module-sync', 'node', 'default'], required = ['require', 'node', 'default'];
  const exported = (exports, inside, conditions) => {
    const pick = (target) => {
      if (typeof target === 'string') return target;
      if (Array.isArray(target)) return target.map(pick).find(Boolean);
      if (target === null || typeof target !== 'object') return undefined;
      for (const key of Object.keys(target)) {
        if (conditions.includes(key)) {
          const found = pick(target[key]);
          if (found) return found;
        }
      }
      return undefined;
    };
    if (typeof exports === 'string' || Array.isArray(exports) || !Object.keys(exports).some((key) => key.startsWith('.'))) {
      return inside === '.' ? pick(exports) : undefined;
    }
    if (exports[inside] !== undefined) return pick(exports[inside]);
    for (const key of Object.keys(exports)) {
      const star = key.indexOf('*');
      if (star < 0 || !inside.startsWith(key.slice(0, star)) || !inside.endsWith(key.slice(star + 1))) continue;
      const middle = inside.slice(star, inside.length - (key.length - star - 1));
      const target = pick(exports[key]);
      if (target) return target.replaceAll('*', middle);
    }
    return undefined;
  };

  // the entry file of a package, undefined if the package does not exist
  const packageFile = (name, base, byRequire) => {
    const parts = name.split('/');
    const title = parts.slice(0, name.startsWith('@') ? 2 : 1).join('/');
    const inside = name.slice(title.length + 1);
    const roots = [];
    for (let dir = $.path.dirname(base); dir.startsWith('/') && dir.startsWith($.input.root); dir = $.path.dirname(dir)) {
      roots.push(`${dir}/node_modules`);
      if (dir === $.input.root || dir === '/') break;
    }
    if ($.input.packages) roots.push($.input.packages);
    for (const root of roots) {
      const home = `${root}/${title}`;
      if (kindOf(home) !== 'folder') continue;
      const about = readJSON(`${home}/package.json`) ?? {};
      if (about.gypfile || isAddon(about.main) || builders.some((builder) => Object.hasOwn(about.dependencies ?? {}, builder)) || /\bnode-(?:pre-)?gyp\b/.test(about.scripts?.install ?? '')) {
        refuseAddon(title, name, base);
      }
      let file;
      if (about.exports !== undefined && about.exports !== null) {
        const path = inside ? `./${inside}` : '.', first = byRequire ? required : imported;
        const target = exported(about.exports, path, first) ?? exported(about.exports, path, byRequire ? imported : required);
        if (target) file = fileAt($.path.normalize(`${home}/${target}`));
      } else if (inside) file = fileAt(`${home}/${inside}`);
      else {
        const entry = (byRequire ? undefined : about.module) ?? about.main ?? 'index.js';
        file = fileAt($.path.normalize(`${home}/${entry}`).replace(/\/$/, '')) ?? fileAt(`${home}/index.js`);
      }
      if (file) return file;
      throw notFound(name, base, `the package '${title}' is there, but has no JavaScript under that name`, 'module');
    }
    return undefined;
  };

  // ---- /mcp-servers ----
  const toolModule = (path) => {
    const [, server, file] = /^\/mcp-servers(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path) ?? [];
    const tool = file && file.replace(/\.(?:ts|js|mjs)$/, '');
    if (!server || server === 'index.ts') return Object.fromEntries([...$.serverNames.map((name) => [name, $.server(name)]), ['default', $.tools]]);
    const owner = $.server(server);
    if (tool && tool !== 'index') return { [tool]: owner[tool], default: owner[tool] };
    const camel = (name) => name.replace(/[-_]+(\w)/g, (_, letter) => letter.toUpperCase());
    return Object.fromEntries([...Object.keys(owner).flatMap((name) => [[camel(name), owner[name]], [name, owner[name]]]), ['default', owner]]);
  };

  // A session sees tools that are added later: a module with other
  // names is another module.
  const editions = new Map();
  const toolModuleName = (path) => {
    const names = Object.keys(toolModule(path)).join();
    const known = editions.get(path) ?? { names, n: 0 };
    if (known.names !== names) [known.names, known.n] = [names, known.n + 1];
    editions.set(path, known);
    return `wexec:${path}${known.n ? `?${known.n}` : ''}`;
  };

  const inside = (path, folder) => folder !== '' && (path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`));

  const resolve = (given, base, byRequire = false) => {
    const name = given.startsWith('file:') ? $.node.url().fileURLToPath(given) : given;
    const plain = bare(name);
    if (Object.hasOwn(builtins, plain)) return `wexec:${plain}`;
    if (name.startsWith('wexec:')) return name;
    const root = ($.input && $.input.root) || '';
    // the program is in its root, whatever path the caller used
    const from = base.startsWith('/') && base !== ($.input && $.input.file) ? base : `${root}/${$.path.basename(base)}`;
    // the helper that a client of MCP is wrapped in, in the file that examples put it in
    if (/^\.{1,2}\/(?:.*\/)?client(?:\.[jt]s)?$/.test(name) && !(root && fileAt($.path.normalize(`${$.path.dirname(from)}/${name}`)))) return 'wexec:tools';
    if (/^\/mcp-servers(?:\/|$)/.test(name)) return toolModuleName($.path.normalize(name).replace(/\/$/, ''));
    // the folder of servers under the name that other sandboxes give it
    const served = /^(?:\.\/|\/)?servers(?:\/([^/]+?)(?:\/([^/]+?))?)?(?:\.[jt]s)?$/.exec(name);
    if (served && !(root && kindOf(`${root}/servers`))) {
      return toolModuleName(['/mcp-servers', ...served.slice(1).filter((part) => part && part !== 'index')].join('/'));
    }
    if (name.startsWith('./') || name.startsWith('../') || name.startsWith('/') || name === '.' || name === '..') {
      if (isAddon(name)) throw notFound(name, base, 'native addons are not supported: only pure JavaScript is');
      const packages = ($.input && $.input.packages) || '';
      if (!root && !inside(base, packages)) {
        throw notFound(name, base, 'the program has no folder to import from: put everything into one file');
      }
      let path = name.startsWith('/') ? $.path.normalize(name) : $.path.normalize(`${$.path.dirname(from)}/${name}`);
      // the files next to the program by its __dirname or import.meta.url
      const folder = $.path.dirname(programFile());
      if (!inside(path, root) && !inside(path, packages) && inside(path, folder)) path = $.path.join(root, $.path.relative(folder, path));
      if (!inside(path, root) && !inside(path, packages)) {
        throw notFound(name, base, "imports cannot leave the program's folder");
      }
      const file = fileAt(path);
      if (!file) throw notFound(name, base, withheld.test(name) ? 'a JSON file whose name suggests a secret is not imported: allow it in the policy under files'
        : "the file does not exist in the program's folder");
      return file;
    }
    if (/^https?:/.test(name)) throw notFound(name, base, 'code is never loaded from the network', 'module');
    const file = root || ($.input && $.input.packages) ? packageFile(name, from, byRequire) : undefined;
    if (file) return file;
    if (Object.hasOwn(standIns, name)) return `wexec:${name}`;
    const near = $.nearest(plain, Object.keys(builtins));
    throw notFound(name, base, hints[plain] ?? hints[plain.split('/')[0]] ?? (near ? `did you mean '${near}'?`
      : root && kindOf(`${root}/node_modules`) ? 'the package is not in node_modules next to the program'
        : 'packages are not available: write the code yourself, or use a tool'), name.startsWith('node:') ? 'module' : 'package');
  };

  // ---- CommonJS ----
  const common = new Map();
  const isCommon = (file, text) => {
    if (file.endsWith('.cjs')) return true;
    if (file.endsWith('.mjs') || /^\s*(?:import\s*[\w{*'"]|export\s+(?:default|const|let|var|function|class|async|\{|\*))/m.test(text)) return false;
    return /\b(?:module\.exports|exports\.\w+|exports\[|require\(|Object\.defineProperty\(exports)/.test(text);
  };
  const requireFrom = (base) => (name) => {
    const full = resolve(name, base, true);
    if (full.startsWith('wexec:')) return valuesOf(full.slice(6));
    return loadCommon(full);
  };
  // what packages read from process.env
  const packageEnv = { NODE_ENV: 'production' };
  const loadCommon = (file) => {
    if (common.has(file)) return common.get(file).exports;
    const module = { exports: {}, id: file, filename: file, loaded: false };
    common.set(file, module);
    const text = $.readSource(file);
    if (text === undefined) throw new Error(`cannot read ${file}`);
    if (file.endsWith('.json')) module.exports = JSON.parse(text);
    else {
      const process = Object.create(globalThis.process, { env: { value: packageEnv, writable: true } });
      const run = $.evaluate(`(function (exports, require, module, __filename, __dirname, process) {${text}\n})`, file);
      run.call(module.exports, module.exports, requireFrom(file), module, file, $.path.dirname(file), process);
    }
    module.loaded = true;
    return module.exports;
  };
  const valuesOf = (name) => (name.startsWith('/mcp-servers') ? toolModule(name.replace(/\?\d+$/, '')) : builtin(name));

  // the text of a module whose exports are the properties of values
  const identifier = /^[A-Za-z_$][\w$]*$/;
  const words = new Set(['default', 'break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'delete', 'do', 'else', 'enum', 'export',
    'extends', 'false', 'finally', 'for', 'function', 'if', 'import', 'in', 'instanceof', 'new', 'null', 'return', 'super', 'switch', 'this',
    'throw', 'true', 'try', 'typeof', 'var', 'void', 'while', 'with', 'yield', 'let', 'static', 'await', 'implements', 'interface', 'package',
    'private', 'protected', 'public', 'eval', 'arguments']);
  const synthetic = (values) => {
    const keys = values !== null && (typeof values === 'object' || typeof values === 'function') ? Object.keys(values) : [];
    const names = keys.filter((name) => identifier.test(name) && !words.has(name));
    const text = `const $values = import.meta.values;\n${names.map((name) => `export const ${name === '$values' ? '$values_' : name} = $values.${name};`).join('\n')}
export default ${values !== null && typeof values === 'object' && 'default' in values ? '$values.default' : '$values'};`;
    return [text, values];
  };

  $.programFile = programFile;
  $.requireFrom = requireFrom;
  $.resolve = resolve;
  $.hook('resolve', resolve);
  $.hook('meta', (meta, name) => {
    const main = name === $.input.file, filename = main ? programFile() : name;
    Object.assign(meta, { dirname: $.path.dirname(filename), filename, main, url: `file://${encodeURI(filename).replace(/[?#]/g, encodeURIComponent)}` });
  });
  $.hook('load', (name) => {
    if (name.startsWith('wexec:')) return synthetic(valuesOf(name.slice(6)));
    if (name.endsWith('.json')) return ['export default import.meta.values;', readJSON(name)];
    let text = $.readSource(name);
    if (text === undefined) throw new Error(`cannot read ${name}`);
    if (/\.[cm]?tsx?$/.test(name)) text = $.callNow('wexec:compile', { file: name, code: text });
    return isCommon(name, text) ? synthetic(loadCommon(name)) : [text];
  });
};
