// Common modules of Node: events, util, url, querystring,
// timers/promises, string_decoder, os, tty.
($) => {
  const wrong = (name, type, value) => $.coded(new TypeError(`The "${name}" argument must be of type ${type}. Received ${$.inspect(value)}`), 'ERR_INVALID_ARG_TYPE');
  const aborted = (signal) => $.coded(Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError' }), 'ABORT_ERR');

  // ---- events ----
  const stores = new WeakMap();
  const storeOf = (emitter) => {
    if (!stores.has(emitter)) stores.set(emitter, { lists: new Map(), most: 10 });
    return stores.get(emitter);
  };
  const listOf = (emitter, type) => storeOf(emitter).lists.get(type) ?? [];
  function EventEmitter() {} // called as EventEmitter.call(this) by old programs
  const add = (emitter, type, fn, first, listener = fn) => {
    if (typeof listener !== 'function') throw wrong('listener', 'function', listener);
    if (listOf(emitter, 'newListener').length > 0) emitter.emit('newListener', type, listener);
    const list = listOf(emitter, type);
    storeOf(emitter).lists.set(type, first ? [fn, ...list] : [...list, fn]);
    return emitter;
  };
  const wrapped = (emitter, type, listener) => {
    const one = function one(...list) {
      emitter.off(type, one);
      return listener.apply(emitter, list);
    };
    one.listener = listener;
    return one;
  };
  const methods = {
    on(type, fn) { return add(this, type, fn, false); },
    addListener(type, fn) { return add(this, type, fn, false); },
    prependListener(type, fn) { return add(this, type, fn, true); },
    once(type, fn) { return add(this, type, wrapped(this, type, fn), false, fn); },
    prependOnceListener(type, fn) { return add(this, type, wrapped(this, type, fn), true, fn); },
    off(type, fn) {
      const list = listOf(this, type);
      const at = list.findLastIndex((known) => known === fn || known.listener === fn);
      if (at < 0) return this;
      if (list.length === 1) storeOf(this).lists.delete(type);
      else storeOf(this).lists.set(type, list.toSpliced(at, 1));
      if (listOf(this, 'removeListener').length > 0) this.emit('removeListener', type, fn);
      return this;
    },
    removeListener(type, fn) { return this.off(type, fn); },
    removeAllListeners(type) {
      if (arguments.length === 0) storeOf(this).lists.clear();
      else storeOf(this).lists.delete(type);
      return this;
    },
    emit(type, ...list) {
      const listeners = listOf(this, type);
      if (type === 'error' && listeners.length === 0) {
        if (list[0] instanceof Error) throw list[0];
        throw Object.assign($.coded(new Error(`Unhandled error. (${$.inspect(list[0])})`), 'ERR_UNHANDLED_ERROR'), { context: list[0] });
      }
      for (const fn of listeners) fn.apply(this, list);
      return listeners.length > 0;
    },
    listeners(type) { return listOf(this, type).map((fn) => fn.listener ?? fn); },
    rawListeners(type) { return [...listOf(this, type)]; },
    listenerCount(type) { return listOf(this, type).length; },
    eventNames() { return [...storeOf(this).lists.keys()]; },
    setMaxListeners(n) { storeOf(this).most = n; return this; },
    getMaxListeners() { return storeOf(this).most; },
  };
  for (const name of Object.keys(methods)) $.define(EventEmitter.prototype, name, methods[name]);

  const listen = (source, type, fn) => {
    if (typeof source.addEventListener === 'function') {
      source.addEventListener(type, fn);
      return () => source.removeEventListener(type, fn);
    }
    source.on(type, fn);
    return () => source.off(type, fn);
  };
  const once = (source, type, options) => new Promise((resolve, reject) => {
    const signal = options?.signal, stops = [];
    const end = (settle) => (...list) => {
      for (const stop of stops) stop();
      settle(list);
    };
    if (signal?.aborted) {
      reject(aborted(signal));
      return;
    }
    stops.push(listen(source, type, end(resolve)));
    if (type !== 'error' && typeof source.on === 'function') stops.push(listen(source, 'error', end(([error]) => reject(error))));
    if (signal) stops.push(listen(signal, 'abort', end(() => reject(aborted(signal)))));
  });
  async function* on(source, type, options) {
    const came = [], signal = options?.signal;
    let wake, failure;
    const stops = [listen(source, type, (...list) => { came.push(list); wake?.(); })];
    const fail = (error) => { failure = error; wake?.(); };
    if (typeof source.on === 'function') stops.push(listen(source, 'error', fail));
    if (signal) stops.push(listen(signal, 'abort', () => fail(aborted(signal))));
    try {
      for (;;) {
        while (came.length > 0) yield came.shift();
        if (failure) throw failure;
        if (signal?.aborted) throw aborted(signal);
        await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      for (const stop of stops) stop();
    }
  }
  Object.assign(EventEmitter, { EventEmitter, once, on, defaultMaxListeners: 10, errorMonitor: Symbol('events.errorMonitor') });

  // ---- util ----
  const customPromise = Symbol.for('nodejs.util.promisify.custom');
  const promisify = (fn) => {
    if (typeof fn !== 'function') throw wrong('original', 'function', fn);
    if (typeof fn[customPromise] === 'function') return fn[customPromise];
    return function promised(...list) {
      return new Promise((resolve, reject) => {
        fn.call(this, ...list, (error, value) => (error ? reject(error) : resolve(value)));
      });
    };
  };
  promisify.custom = customPromise;
  const later = (ms, value, options) => new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted) {
      reject(aborted(signal));
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(aborted(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve(value);
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
  const soon = (value) => new Promise((resolve) => { setImmediate(resolve, value); });
  $.define(setTimeout, customPromise, later);
  $.define(setImmediate, customPromise, soon);

  const is = (...kinds) => (value) => kinds.includes($.kind(value));
  const views = ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array',
    'Float64Array', 'BigInt64Array', 'BigUint64Array'];
  const functions = (kind) => (value) => typeof value === 'function' && [kind, 'AsyncGeneratorFunction'].includes($.kind(value));
  const types = { isProxy: (value) => $.proxy(value) !== null, isNativeError: is('Error'), isTypedArray: is(...views), isAnyArrayBuffer: is('ArrayBuffer'),
    isAsyncFunction: functions('AsyncFunction'), isGeneratorFunction: functions('GeneratorFunction'), isGeneratorObject: is('Generator', 'AsyncGenerator'),
    isArrayBufferView: ArrayBuffer.isView, isBoxedPrimitive: is('Number', 'String', 'Boolean', 'BigInt', 'Symbol'),
    isMapIterator: is('Map Iterator'), isSetIterator: is('Set Iterator') };
  for (const kind of ['Date', 'RegExp', 'Promise', 'Map', 'Set', 'WeakMap', 'WeakSet', 'ArrayBuffer', 'DataView', ...views]) types[`is${kind}`] = is(kind);
  const styles = { bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39],
    magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39] };

  const parseArgs = ({ args = [], options = {}, strict = true, allowPositionals = !strict } = {}) => {
    const values = Object.create(null), positionals = [], list = [...args];
    const fault = (text, code) => { throw $.coded(new TypeError(text), code); };
    const keep = (name, value, shown) => {
      const option = options[name];
      if (!option && strict) fault(`Unknown option '${shown}'${allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${shown}"` : ''}`, 'ERR_PARSE_ARGS_UNKNOWN_OPTION');
      if (option?.type === 'string' && value === undefined) value = list.shift();
      if (option?.type === 'string' && value === undefined && strict) fault(`Option '${shown} <value>' argument missing`, 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE');
      const kept = value ?? true;
      if (option?.multiple) (values[name] ??= []).push(kept);
      else values[name] = kept;
    };
    while (list.length > 0) {
      const arg = list.shift();
      if (arg === '--') positionals.push(...list.splice(0));
      else if (arg.startsWith('--')) {
        const [, name, value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg);
        keep(name, value, `--${name}`);
      } else if (/^-./.test(arg)) {
        const letters = [...arg.slice(1)];
        while (letters.length > 0) {
          const letter = letters.shift();
          const name = Object.keys(options).find((key) => options[key].short === letter) ?? letter;
          const rest = options[name]?.type === 'string' && letters.length > 0 ? letters.splice(0).join('') : undefined;
          keep(name, rest, `-${letter}`);
        }
      } else if (!allowPositionals && strict) fault(`Unexpected argument '${arg}'. This command does not take positional arguments`, 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL');
      else positionals.push(arg);
    }
    for (const name of Object.keys(options)) if (options[name].default !== undefined && !(name in values)) values[name] = options[name].default;
    return { values, positionals };
  };
  const inspect = (value, options, depth) => $.inspect(value, typeof options === 'object' && options !== null ? options : depth === undefined ? undefined : { depth });
  Object.assign(inspect, { custom: $.customInspect, defaultOptions: { depth: 2, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3 } });
  const util = {
    inspect, promisify, types, parseArgs, TextEncoder, TextDecoder,
    format: (...list) => $.format(list),
    isDeepStrictEqual: (a, b) => $.same(a, b, false),
    callbackify: (fn) => function called(...list) {
      const callback = list.pop();
      fn.apply(this, list).then((value) => callback(null, value), (error) => callback(error ?? new Error('Promise was rejected with a falsy value')));
    },
    deprecate: (fn) => fn,
    inherits(type, parent) {
      $.define(type, 'super_', parent);
      Object.setPrototypeOf(type.prototype, parent.prototype);
    },
    debuglog: () => Object.assign(() => {}, { enabled: false }),
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''),
    styleText: (names, text) => [names].flat().reduceRight((all, name) => `\u001b[${styles[name]?.[0] ?? 0}m${all}\u001b[${styles[name]?.[1] ?? 0}m`, text),
    toUSVString: (text) => String(text).toWellFormed(),
    isArray: Array.isArray,
  };

  // ---- querystring and the old url ----
  const escape = (value) => encodeURIComponent(String(value));
  const unescape = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const plain = (value) => (['string', 'bigint', 'boolean'].includes(typeof value) || Number.isFinite(value) ? String(value) : '');
  const querystring = {
    escape, unescape,
    stringify: (object, between = '&', is_ = '=') => Object.entries(object ?? {})
      .flatMap(([key, value]) => (Array.isArray(value) ? value : [value]).map((one) => escape(key) + is_ + escape(plain(one)))).join(between),
    parse(text, between = '&', is_ = '=') {
      const found = Object.create(null);
      for (const part of String(text).split(between)) {
        if (part === '') continue;
        const at = part.indexOf(is_), clean = (piece) => unescape(piece.replace(/\+/g, ' '));
        const key = clean(at < 0 ? part : part.slice(0, at)), value = at < 0 ? '' : clean(part.slice(at + is_.length));
        if (key in found) found[key] = [found[key], value].flat();
        else found[key] = value;
      }
      return found;
    },
  };
  querystring.encode = querystring.stringify;
  querystring.decode = querystring.parse;

  const parseURL = (text, withQuery = false) => {
    const [, protocol = null, slashes, auth = null, hostname = null, port = null, pathname = null, search = null, hash = null] =
      /^(?:([a-z][a-z0-9+.-]*:)(?=\/\/|[^/]))?(?:(\/\/)(?:([^@/?#]*)@)?([^:/?#]*)(?::(\d+))?)?([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(String(text).trim()) ?? [];
    const path = (pathname || (slashes ? '/' : null)), query = search === null ? null : search.slice(1);
    return { protocol: protocol && protocol.toLowerCase(), slashes: slashes ? true : null, auth: auth && unescape(auth), host: hostname === null ? null : hostname.toLowerCase() + (port ? `:${port}` : ''),
      port, hostname: hostname && hostname.toLowerCase(), hash, search, query: withQuery ? querystring.parse(query ?? '') : query, pathname: path,
      path: path === null && search === null ? null : (path ?? '') + (search ?? ''), href: slashes && !pathname ? String(text).trim().replace(/^([^?#]*)/, '$1/') : String(text).trim() };
  };
  const formatURL = (given) => {
    if (typeof given === 'string') return given;
    if (given instanceof URL) return given.href;
    const { protocol, auth, host, hostname, port, pathname = '', search, query, hash = '' } = given;
    const scheme = protocol ? protocol.replace(/:?$/, ':') : '';
    const place = host ?? (hostname ? hostname + (port ? `:${port}` : '') : '');
    const asked = search ?? (query && typeof query === 'object' ? querystring.stringify(query) : '');
    const slashes = given.slashes || place !== '' || /^(?:https?|ftp|file):$/.test(scheme) ? '//' : '';
    return scheme + slashes + (auth ? `${auth}@` : '') + place + (place && pathname && !pathname.startsWith('/') ? '/' : '') + (pathname ?? '')
      + (asked ? (asked.startsWith('?') ? asked : `?${asked}`) : '') + (hash ? (hash.startsWith('#') ? hash : `#${hash}`) : '');
  };
  const url = {
    URL, URLSearchParams, parse: parseURL, format: formatURL,
    resolve(from, to) {
      const base = new URL(from, 'resolve:/'), whole = new URL(to, base);
      return whole.protocol === 'resolve:' ? whole.pathname + whole.search + whole.hash : whole.href;
    },
    fileURLToPath(given) {
      const whole = new URL(given);
      if (whole.protocol !== 'file:') throw $.coded(new TypeError('The URL must be of scheme file'), 'ERR_INVALID_URL_SCHEME');
      if (whole.hostname) throw $.coded(new TypeError('File URL host must be empty'), 'ERR_INVALID_FILE_URL_HOST');
      return decodeURIComponent(whole.pathname);
    },
    pathToFileURL: (path) => new URL(`file://${$.path.resolve(path).replace(/%/g, '%25').replace(/\?/g, '%3F').replace(/#/g, '%23')}`),
    domainToASCII: (domain) => (URL.canParse(`http://${domain}`) ? new URL(`http://${domain}`).hostname : ''),
  };

  // ---- string_decoder ----
  class StringDecoder {
    #decoder; #held = [];
    constructor(encoding = 'utf8') {
      this.encoding = encoding;
      if (/^(?:utf-?8|)$/i.test(encoding)) this.#decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    }
    write(bytes) {
      if (this.#decoder) return this.#decoder.decode(bytes, { stream: true });
      const size = /^base64/.test(this.encoding) ? 3 : /16|ucs/.test(this.encoding) ? 2 : 1;
      const all = Buffer.concat([...this.#held, bytes]), whole = all.length - (all.length % size);
      this.#held = [all.subarray(whole)];
      return all.toString(this.encoding, 0, whole);
    }
    end(bytes) {
      const text = bytes ? this.write(bytes) : '';
      return text + (this.#decoder ? this.#decoder.decode() : Buffer.concat(this.#held.splice(0)).toString(this.encoding));
    }
  }

  $.node = {
    events: () => EventEmitter,
    util: () => util,
    'util/types': () => types,
    url: () => url,
    querystring: () => querystring,
    string_decoder: () => ({ StringDecoder }),
    buffer: () => ({ Buffer, Blob, File, atob, btoa, constants: { MAX_LENGTH: 2 ** 31, MAX_STRING_LENGTH: 2 ** 29 - 24 }, kMaxLength: 2 ** 31 }),
    os: () => ({ EOL: '\n', devNull: '/dev/null', tmpdir: () => '/tmp', homedir: () => '/tmp', platform: () => 'wasi', type: () => 'WASI', arch: () => 'wasm32',
      release: () => '', hostname: () => 'sandbox', endianness: () => 'LE', availableParallelism: () => 1, cpus: () => [{ model: 'wasm', speed: 0 }], loadavg: () => [0, 0, 0],
      totalmem: () => $.memory(), freemem: () => 0, uptime: () => ($.now() - $.started) / 1000, version: () => '', machine: () => 'wasm32',
      userInfo: () => ({ username: 'sandbox', uid: 0, gid: 0, shell: null, homedir: '/tmp' }), networkInterfaces: () => ({}), constants: { signals: {}, errno: {} } }),
    tty: () => ({ isatty: () => false }),
    'timers/promises': () => ({
      setTimeout: later,
      setImmediate: soon,
      setInterval: async function* each(ms, value, options) { for (;;) { await later(ms, undefined, options); yield value; } },
      scheduler: { wait: (ms, options) => later(ms, undefined, options), yield: () => soon() },
    }),
    timers: () => ({ setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, promises: $.node['timers/promises']() }),
  };
};
