// What programs for Node find without an import: require, module, process, global.
($) => {
  // ---- require and module ----
  const file = $.programFile;
  const module = { exports: {}, children: [], loaded: false, get id() { return '.'; }, get filename() { return file(); },
    get path() { return $.path.dirname(file()); } };
  const require = (name) => $.requireFrom($.input.file)(String(name));
  Object.assign(require, { main: module, cache: {}, resolve: (name) => $.resolve(String(name), $.input.file, true).replace(/^wexec:/, '') });
  $.expose('require', require);
  $.expose('module', module);
  $.expose('exports', module.exports);
  $.expose('global', globalThis);
  for (const [name, value] of [['__filename', file], ['__dirname', () => $.path.dirname(file())]]) {
    Object.defineProperty(globalThis, name, { configurable: true, get: value, set: (other) => { $.define(globalThis, name, other); } });
  }

  // ---- process ----
  const ticks = [];
  const nextTick = (fn, ...list) => {
    if (typeof fn !== 'function') throw $.coded(new TypeError(`The "callback" argument must be of type function. Received ${$.inspect(fn)}`), 'ERR_INVALID_ARG_TYPE');
    ticks.push(() => fn(...list));
    if (ticks.length > 1) return;
    $.ahead(function drain() {
      for (let i = 0; i < ticks.length; i++) {
        try {
          ticks[i]();
        } catch (error) {
          ticks.splice(0, i + 1);
          if (ticks.length > 0) $.ahead(drain);
          throw error;
        }
      }
      ticks.length = 0;
    });
  };
  const hrtime = (since) => {
    const now = $.now(), seconds = Math.floor(now / 1000), nanos = Math.round((now % 1000) * 1e6);
    if (since === undefined) return [seconds, nanos];
    const gone = (seconds - since[0]) * 1e9 + nanos - since[1];
    return [Math.floor(gone / 1e9), gone % 1e9];
  };
  hrtime.bigint = () => BigInt(Math.round($.now() * 1e6));
  const memoryUsage = () => {
    const used = $.memory();
    return { rss: used, heapTotal: used, heapUsed: used, external: 0, arrayBuffers: 0 };
  };
  memoryUsage.rss = () => $.memory();

  // a stream of the process, as far as programs print with it
  const output = (fd) => ({
    fd, isTTY: false, writable: true, columns: 80,
    write(text, encoding, done = encoding) {
      $.write(fd, typeof text === 'string' ? text : $.decode(text, false));
      if (typeof done === 'function') nextTick(done);
      return true;
    },
    end(text) { if (text !== undefined) this.write(text); },
    on() { return this; }, once() { return this; }, off() { return this; }, emit: () => false, removeListener() { return this; },
  });
  let stdin;
  const exit = (code = process.exitCode) => {
    const status = Number(code ?? 0) & 255;
    $.exit(status === 0 ? undefined : { code: 'guest.exit', name: 'Error', message: `the program ended with exit(${code})`, exit: status });
  };
  const events = new ($.node.events())();
  const process = {
    title: 'wexec', version: 'v20.0.0', versions: { node: '20.0.0' }, release: { name: 'node' }, platform: 'wasi', arch: 'wasm32', pid: 1, ppid: 0,
    execPath: '/usr/bin/node', execArgv: [], exitCode: undefined, features: {}, config: {},
    get argv() { return (this.given ??= ['node', file(), ...($.input.argv ?? [])]); },
    set argv(list) { this.given = list; },
    get argv0() { return 'node'; },
    get env() { return globalThis.env; },
    cwd: () => $.path.resolve('.'), uptime: () => ($.now() - $.started) / 1000, umask: () => 0o22, getuid: () => 0, geteuid: () => 0,
    nextTick, hrtime, memoryUsage, exit, abort: () => exit(134), kill: () => { throw $.coded(new Error('kill EPERM'), 'EPERM'); },
    cpuUsage: () => ({ user: Math.round($.now() * 1000), system: 0 }), resourceUsage: () => ({ maxRSS: Math.round($.memory() / 1024) }),
    emitWarning: (warning) => $.write(2, `(node) ${warning instanceof Error ? warning : `Warning: ${warning}`}\n`),
    get stdin() { return (stdin ??= $.inputStream()); },
    stdout: output(1), stderr: output(2),
  };
  for (const name of ['on', 'once', 'off', 'addListener', 'removeListener', 'removeAllListeners', 'emit', 'listeners', 'listenerCount']) {
    $.define(process, name, (...list) => { const got = events[name](...list); return got === events ? process : got; });
  }
  Object.defineProperty(process, 'given', { enumerable: false, writable: true, configurable: true, value: undefined });
  $.process = process;
  $.expose('process', process);

  // a new run of a session
  $.newProcess = () => {
    process.given = process.exitCode = stdin = undefined;
    ticks.length = 0;
  };
};
