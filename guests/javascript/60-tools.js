// Tools: `tools.<server>.<tool>`, every server by its own name, and the helpers
// around calls. Names are resolved by the host, so reading one never fails.
($) => {
  const { call, define } = $;
  const { Proxy } = globalThis; // a program may put something else in their place
  const { create, hasOwn } = Object;

  // The prelude's own calls are not tools, whatever name a program constructs.
  const own = (name) => Promise.reject(new ToolError(`there is no tool ${name}`, { code: 'tool.unknown', tool: name }));
  const caller = (name) => {
    if (name.startsWith('wexec:')) return () => own(name);
    const tool = $.tool(name);
    return enveloped ? (...list) => tool(...list).then(envelop) : tool;
  };

  // Answers are unwrapped. A program that reads them as the protocol sends them finds the
  // text of an answer under content too.
  let enveloped = false;
  const asSent = /\bcontent(?:['"]\])?\s*(?:\?\.)?\s*\[\s*0\s*\]|\.content\??\.(?:find|filter|map|at)\(/;
  const content = { configurable: true, enumerable: false, get() {
    return [{ type: 'text', text: typeof this === 'object' && $.kind(this) !== 'String' ? JSON.stringify(this) : String(this) }];
  }, set(value) { Object.defineProperty(this, 'content', { value, writable: true, enumerable: true, configurable: true }); } };
  const envelop = (answer) => {
    if (typeof answer === 'object' && answer !== null && !hasOwn(answer, 'content')) Object.defineProperty(answer, 'content', content);
    return answer;
  };
  $.envelop = (code) => {
    if (enveloped === asSent.test(code)) return;
    enveloped = !enveloped;
    if (enveloped) Object.defineProperty(String.prototype, 'content', content); // an answer may be text
    else delete String.prototype.content;
    for (const proxy of [$.tools, ...Object.values(servers)]) {
      const handler = $.proxy(proxy)[1];
      if (handler.known) handler.known = $.know(proxy, create(null));
    }
  };

  const newTool = (name, owner) => {
    const tool = caller(name);
    define(tool, 'name', name);
    // some programs treat a tool as an object: tool.call({…})
    define(tool, 'call', (...list) =>
      (list.length > 1 && (list[0] === owner || list[0] === null || list[0] === undefined || list[0] === $.tools)
        ? tool(...list.slice(1)) : tool(...list)));
    define(tool, 'toString', () => `tool ${name}`);
    return tool;
  };

  const names = (server) => {
    const list = $.callNow('wexec:names', { server });
    return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
  };

  // Names that inspect an object and do not mean a tool, unless a tool has
  // that name.
  const reserved = create(null);
  for (const name of ['then', 'toJSON', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty',
    'inspect', '$$typeof', 'asymmetricMatch', '__proto__']) reserved[name] = true;
  const ordinary = (title, name) => (name === 'toString' ? () => `[${title}]` : name === 'hasOwnProperty' ? Object.prototype.hasOwnProperty : undefined);

  // A tool named `then` makes its server look like a promise. When the server is
  // awaited, `then` gets two functions, and resolves to a proxy without that tool.
  const thenTool = (tool, again) => {
    const then = (...list) => {
      if (typeof list[0] !== 'function') return tool(...list);
      list[0](again());
      return undefined;
    };
    define(then, 'name', tool.name);
    define(then, 'toString', tool.toString);
    return then;
  };

  // What is behind `tools` and every server: a proxy whose every property is
  // made by make(name), and whose keys come from list(). It can be
  // called, which fails with an explanation. There is one for each server in each
  // run, so all share their functions. A property is cached in the
  // proxy itself, which does not call the handler for it again.
  const target = () => {};
  const begun = (handler, title) => {
    handler.title = title;
    return (handler.proxy = new Proxy(target, handler));
  };
  class Namespace {
    get(_, name) {
      if (typeof name === 'symbol') return name === Symbol.toStringTag ? this.title : undefined;
      if (reserved[name] && !(this.isTool(name) && !(name === 'then' && this.awaited))) return ordinary(this.title, name);
      const made = name === 'then' ? thenTool(this.make(name), () => this.again()) : this.make(name);
      this.known ??= $.know(this.proxy, create(null)); // only when a property is read
      return (this.known[name] = made);
    }
    isTool(name) {
      try {
        return this.list().includes(name);
      } catch {
        return false; // an unknown server has no tools
      }
    }
    again() {
      const handler = new this.constructor();
      handler.awaited = true;
      return begun(handler, this.title);
    }
    set() { return false; }
    has(_, name) { return typeof name === 'string' && this.list().includes(name); }
    ownKeys() { return this.list(); }
    getOwnPropertyDescriptor(_, name) {
      return this.has(_, name) ? { value: this.make(name), writable: false, enumerable: true, configurable: true } : undefined;
    }
    deleteProperty() { return false; }
    defineProperty() { return false; }
    apply(_, self, given) { return caller(this.title)(...given); }
  }

  class Server extends Namespace {
    make(name) { return newTool(`${this.title}.${name}`, this.proxy); }
    list() { // read again in each run of a session: the tools of a server can change
      if (this.names === undefined || this.run !== $.input) [this.names, this.run] = [names(this.title), $.input];
      return this.names;
    }
    get label() { return `[server ${this.title}]`; }
  }

  const spelled = /^(?:mcp__)?(.+?)__(.+)$/;
  class Tools extends Namespace {
    make(name) {
      if (hasOwn(helpers, name)) return helpers[name];
      if (name === 'call' && !$.serverNames.includes(name)) return helpers.callTool;
      const flat = spelled.exec(name);
      if (flat && $.serverNames.includes(flat[1])) return newTool(`${flat[1]}.${flat[2]}`);
      return name.includes('.') ? newTool(name) : $.server(name);
    }
    list() { return $.serverNames; }
    get label() { return '[tools]'; }
  }

  // what console.log shows for such a proxy
  $.labelOf = (value) => {
    const handler = $.proxy(value)?.[1];
    return handler instanceof Namespace ? handler.label : undefined;
  };

  const servers = create(null);
  $.server = (name) => {
    return (servers[name] ??= begun(new Server(), name));
  };
  $.hook('server', $.server);
  const helpers = {};
  $.helpers = helpers;
  $.hook('references', (rows) =>
    rows.filter(([server]) => !hasOwn(helpers, server)).sort((a, b) => a[2] - b[2] || a[3] - b[3]));
  $.tools = begun(new Tools(), 'tools');
  $.serverNames = [];
  define(globalThis, 'tools', $.tools);

  // the tools that a program calls by names such as mcp__github__list_issues
  $.exposeSpelled = (code) => {
    for (const [, name] of code.matchAll(/(?<![\w$.])([A-Za-z]\w*?__\w+)\s*\(/g)) {
      const [, server, tool] = spelled.exec(name) ?? [];
      if ($.serverNames.includes(server) && !(name in globalThis)) $.expose(name, newTool(`${server}.${tool}`));
    }
  };

  // {$bytes} in a content list stands for bytes
  const withBytes = (value) => {
    if (Array.isArray(value)) return value.map(withBytes);
    if (value === null || typeof value !== 'object') return value;
    const keys = Object.keys(value);
    if (keys.length === 1 && keys[0] === '$bytes' && typeof value.$bytes === 'string') return $.fromBase64(value.$bytes);
    for (const key of keys) value[key] = withBytes(value[key]);
    return value;
  };
  $.hook('content', withBytes);

  // ---- finding tools ----
  helpers.searchTools = (query, options, detail) => {
    const given = typeof options === 'object' && options !== null ? options : { limit: options, detail };
    const { limit = 10, detail: wanted = 'summary' } = given;
    return call('wexec:search', { query: String(query ?? ''), limit, detail: wanted });
  };
  helpers.describeTool = (name) =>
    call('wexec:describe', { name: typeof name === 'function' ? name.name : String(name) });
  helpers.callTool = (name, args) => {
    const [, server, tool] = spelled.exec(name) ?? [];
    return newTool(!name.includes('.') && $.serverNames.includes(server) ? `${server}.${tool}` : String(name))(args);
  };
  helpers.call_tool = helpers.callMCPTool = helpers.callTool;
  helpers.search_tools = helpers.searchTools;
  helpers.describe_tool = helpers.describeTool;

  // ---- the workspace ----
  helpers.searchFiles = (glob = '**') => call('wexec:search_files', { glob: String(glob) });
  helpers.searchContent = (pattern, options = {}) => call('wexec:search_content', { pattern:
    $.kind(pattern) === 'RegExp' ? `${pattern.ignoreCase ? '(?i)' : ''}${pattern.source}` : String(pattern), glob: options.glob, context: options.context });
  helpers.submitResult = ({ summary, changed } = {}) => call('wexec:submit_result', { summary, changed });
  helpers.search_files = helpers.searchFiles;
  helpers.search_content = helpers.searchContent;
  helpers.submit_result = helpers.submitResult;

  // ---- waiting ----
  const sleep = (ms) => new Promise((resolve) => { $.startTimer(resolve, ms, false, true, []); });
  $.sleep = sleep;
  const longest = 2147483647; // of one timer, in milliseconds
  helpers.sleep = async (seconds) => {
    let ms = Number(seconds) * 1000;
    if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`sleep: ${String(seconds)} is not a number of seconds`);
    for (; ms > longest; ms -= longest) await sleep(longest);
    await sleep(ms);
  };
  helpers.waitFor = (name, { timeout } = {}) => call('wexec:wait_for', { name: String(name), timeout });
  helpers.wait_for = helpers.waitFor;

  // ---- calls that may fail ----

  const inTime = (promise, ms) => {
    if (!(ms > 0)) return promise;
    let timer;
    const late = new Promise((_, reject) => {
      timer = $.startTimer(() => reject(new ToolError(`no answer within ${ms} ms`, { code: 'tool.timeout' })), ms, false, true, []);
    });
    return Promise.race([promise, late]).finally(() => $.stopTimer(timer));
  };

  helpers.attempt = async (fn, options = {}) => {
    const { retries = 2, backoff = 200, jitter = 0.2, retryOn, timeout, fallback } = options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await inTime(Promise.resolve(typeof fn === 'function' ? fn(attempt) : fn), timeout);
      } catch (error) {
        const again = attempt < retries && typeof fn === 'function' && wanted(error, retryOn);
        if (!again) {
          if (!('fallback' in options)) throw error;
          return typeof fallback === 'function' ? fallback(error) : fallback;
        }
        const pause = backoff * 2 ** attempt;
        await sleep(pause + pause * jitter * Math.random());
      }
    }
  };

  // A denial and an unknown tool do not change on a retry.
  const wanted = (error, retryOn) => {
    if (typeof retryOn === 'function') return Boolean(retryOn(error));
    const code = error && error.code;
    if (Array.isArray(retryOn)) return retryOn.includes(code);
    if (typeof retryOn === 'string') return retryOn === code;
    return !(error instanceof PolicyError) && !['tool.unknown', 'tool.invalid_args'].includes(code);
  };

  const settled = async (branch) => {
    try {
      return { ok: true, value: await (typeof branch === 'function' ? branch() : branch) };
    } catch (error) {
      const seen = error instanceof Error ? error : new Error(String(error));
      return { ok: false, error: { code: seen.code ?? 'guest.exception', tool: seen.tool ?? null,
        message: seen.message, hint: seen.hint ?? null } };
    }
  };
  helpers.settle = async (branches) => {
    if (typeof branches === 'object' && branches !== null && typeof branches[Symbol.iterator] !== 'function') {
      const keys = Object.keys(branches);
      const results = await Promise.all(keys.map((key) => settled(branches[key])));
      return Object.fromEntries(keys.map((key, i) => [key, results[i]]));
    }
    return Promise.all([...branches].map(settled));
  };

  // ---- many calls ----
  helpers.mapLimit = async (items, limit, fn) => {
    if (typeof limit === 'function') [limit, fn] = [fn ?? 8, limit];
    const list = [...items];
    const results = new Array(list.length);
    let next = 0;
    const worker = async () => {
      while (next < list.length) {
        const i = next++;
        results[i] = await fn(list[i], i);
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, list.length)) }, worker));
    return results;
  };

  // The items of every page. Follows the cursors and page numbers of common
  // servers: the next cursor of an answer becomes the argument of
  // the same name family; without a cursor, page numbers count up while pages are full.
  const cursors = [
    ['nextCursor', 'cursor'], ['next_cursor', 'cursor'], ['nextPageToken', 'pageToken'], ['next_page_token', 'page_token'],
    ['nextToken', 'nextToken'], ['next_token', 'next_token'], ['endCursor', 'after'], ['end_cursor', 'after'],
    ['cursor', 'cursor'], ['continuation', 'continuation'], ['nextPage', 'page'], ['next_page', 'page'],
  ];
  const itemsOf = (page) => {
    if (Array.isArray(page)) return page;
    if (page === null || typeof page !== 'object') return [];
    for (const key of ['items', 'results', 'data', 'values', 'records', 'entries', 'nodes', 'rows']) {
      if (Array.isArray(page[key])) return page[key];
    }
    return Object.values(page).find(Array.isArray) ?? [];
  };
  const cursorOf = (page) => {
    if (page === null || typeof page !== 'object' || Array.isArray(page)) return undefined;
    for (const part of [page, page.pageInfo, page.page_info, page.pagination, page.paging, page.meta, page.response_metadata]) {
      if (part === null || typeof part !== 'object') continue;
      if (part.hasNextPage === false || part.has_next_page === false || part.has_more === false || part.hasMore === false) return null;
      for (const [from, to] of cursors) {
        const value = part[from];
        if ((typeof value === 'string' && value !== '') || typeof value === 'number') return [to, value];
      }
    }
    return undefined;
  };
  helpers.pages = (tool, given = {}, options = {}) => {
    const { limit = Infinity, maxPages = 100 } = options;
    const ask = typeof tool === 'string' ? newTool(tool) : tool;
    const walk = async function* () {
      let request = { ...given }, count = 0, first;
      for (let n = 0; n < maxPages; n++) {
        const page = await ask(request);
        const items = itemsOf(page);
        for (const item of items) {
          if (count++ >= limit) return;
          yield item;
        }
        const cursor = cursorOf(page);
        if (cursor === null || items.length === 0) return;
        if (cursor) {
          if (request[cursor[0]] === cursor[1]) return;
          request = { ...request, [cursor[0]]: cursor[1] };
          continue;
        }
        const size = Number(given.per_page ?? given.perPage ?? given.page_size ?? given.pageSize ?? given.limit);
        first ??= items.length;
        if (!('page' in given) && !(size > 0)) return;
        if (items.length < (size > 0 ? size : first)) return;
        request = { ...request, page: Number(request.page ?? 1) + 1 };
      }
    };
    const iterator = walk();
    // `await pages(…)` returns all items
    iterator.then = (resolve, reject) => {
      delete iterator.then;
      return (async () => {
        const all = [];
        for await (const item of iterator) all.push(item);
        return all;
      })().then(resolve, reject);
    };
    return iterator;
  };

  helpers.progress = (done, total, text) => {
    const report = typeof done === 'object' && done !== null ? done : { done, total, text };
    call('wexec:progress', report).catch(() => {});
  };
  helpers.map_limit = helpers.mapLimit;

  const pii = (op) => (...list) => call('wexec:pii', { op, values: list });
  helpers.pii = { kind: pii('kind'), equal: pii('equal'), domain: pii('domain') };

  // ---- content that lasts ----
  const put = newTool('artifacts.put'), read = newTool('artifacts.read');
  const object = (value) => typeof value === 'object' && value !== null;
  helpers.artifacts = {
    put: (name, data, options) => put(object(name) ? name : { name, data, ...options }),
    read: (id, options) => read(object(id) && !('artifact' in id) ? id : { id: object(id) ? id.artifact : id, ...options }),
  };

  helpers.ToolError = ToolError;
  helpers.PolicyError = PolicyError;
  for (const name of Object.keys(helpers)) {
    if (typeof helpers[name] === 'function' && !(name in globalThis)) $.expose(name, helpers[name]);
  }
  $.expose('pii', helpers.pii);
  $.expose('artifacts', helpers.artifacts);
};
