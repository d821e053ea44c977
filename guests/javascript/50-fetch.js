// fetch, Headers, Request, Response, for the hosts that the policy allows.
($) => {
  const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #map = new Map();
    constructor(init) {
      if (init === undefined || init === null) return;
      if (typeof init !== 'object' && typeof init !== 'function') throw new TypeError('Headers: the argument must be an object or a sequence of pairs.');
      const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
      for (const item of pairs) {
        const pair = Object(item) === item ? [...item] : [];
        if (pair.length !== 2) throw new TypeError('Headers: each pair must be an iterable [name, value] tuple.');
        this.append(pair[0], pair[1]);
      }
    }
    #name(name) {
      const text = String(name);
      if (!token.test(text)) throw new TypeError(`Headers: ${$.inspect(text)} is an invalid header name.`);
      return text.toLowerCase();
    }
    #value(value) {
      const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
      if (/[\0\n\r\u0100-\uffff]/.test(text)) throw new TypeError(`Headers: ${$.inspect(text)} is an invalid header value.`);
      return text;
    }
    append(name, value) {
      const key = this.#name(name);
      this.#map.set(key, [...(this.#map.get(key) ?? []), this.#value(value)]);
    }
    set(name, value) { this.#map.set(this.#name(name), [this.#value(value)]); }
    get(name) { return this.#map.get(this.#name(name))?.join(', ') ?? null; }
    has(name) { return this.#map.has(this.#name(name)); }
    delete(name) { this.#map.delete(this.#name(name)); }
    getSetCookie() { return [...(this.#map.get('set-cookie') ?? [])]; }
    * entries() {
      for (const key of [...this.#map.keys()].sort()) {
        if (key === 'set-cookie') for (const value of this.#map.get(key)) yield [key, value];
        else yield [key, this.get(key)];
      }
    }
    * keys() { for (const [key] of this.entries()) yield key; }
    * values() { for (const [, value] of this.entries()) yield value; }
    forEach(fn, self) { for (const [key, value] of this.entries()) fn.call(self, value, key, this); }
    [Symbol.iterator]() { return this.entries(); }
    [$.customInspect]() { return `Headers ${$.inspect(Object.fromEntries(this))}`; }
  }
  $.define(Headers.prototype, 'toJSON', function toJSON() { return Object.fromEntries(this); });

  const join = (chunks) => {
    const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  };

  // A body: bytes, or a stream of the host.
  const streamOf = Symbol('stream');
  class Body {
    #bytes = null; #stream; #used = false; #signal; #view;
    constructor(body, stream, signal) {
      this.#stream = stream;
      this.#signal = signal;
      if (body !== undefined && body !== null) this.#bytes = toBytes(body);
    }
    get bodyUsed() { return this.#used; }
    get body() {
      if (this.#bytes === null && this.#stream === undefined) return null;
      this.#view ??= { [Symbol.asyncIterator]: () => this.#chunks(), getReader: () => {
        const chunks = this.#chunks();
        return { read: () => chunks.next(), cancel: () => chunks.return(), releaseLock() {} };
      } };
      return this.#view;
    }
    async* #chunks() {
      if (this.#used) throw new TypeError('Body is unusable: Body has already been read');
      this.#used = true;
      if (this.#stream === undefined) {
        if (this.#bytes !== null && this.#bytes.length > 0) yield this.#bytes;
        return;
      }
      try {
        for (;;) {
          this.#signal?.throwIfAborted();
          const chunk = await $.call('wexec:read', { stream: this.#stream, max: 1 << 18 });
          if (chunk.length === 0) return;
          yield chunk;
        }
      } finally {
        $.call('wexec:close', { stream: this.#stream }).catch(() => {});
      }
    }
    async bytes() {
      const chunks = [];
      for await (const chunk of this.#chunks()) chunks.push(chunk);
      return chunks.length === 1 ? chunks[0] : join(chunks);
    }
    async arrayBuffer() {
      const bytes = await this.bytes();
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    }
    async text() { return new TextDecoder().decode(await this.bytes()); }
    async formData() {
      const type = this.headers?.get('content-type') ?? '', bytes = await this.bytes(), form = new FormData();
      if (/^multipart\/form-data\s*;/i.test(type)) {
        const [, quotedName, name] = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type) ?? [];
        fillFrom(form, bytes, quotedName ?? name);
      } else if (/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
        for (const [name, value] of new URLSearchParams(`?${new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)}`)) form.append(name, value);
      } else throw new TypeError(`the content type ${$.inspect(type)} is not that of a form`);
      return form;
    }
    async json() { return JSON.parse(await this.text()); }
    async blob() { return new Blob([await this.bytes()], { type: this.headers?.get('content-type') ?? '' }); }
    get [streamOf]() { return this.#bytes; }
  }
  const toBytes = (body) => {
    if (typeof body === 'string') return new TextEncoder().encode(body);
    if (body instanceof URLSearchParams) return new TextEncoder().encode(body.toString());
    if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return new Uint8Array($.bytesOf(body));
    if (body instanceof Blob) return $.bytesInBlob(body);
    if (body instanceof FormData) return multipart(body);
    return new TextEncoder().encode(String(body));
  };
  const typeOf = (body) => {
    if (typeof body === 'string') return 'text/plain;charset=UTF-8';
    if (body instanceof FormData) return `multipart/form-data; boundary=${body[streamOf]}`;
    if (body instanceof Blob) return body.type || null;
    return body instanceof URLSearchParams ? 'application/x-www-form-urlencoded;charset=UTF-8' : null;
  };

  class FormData {
    #list = [];
    [streamOf] = `----wexec${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
    #entry(name, value, filename) {
      if (!(value instanceof Blob)) return [String(name), String(value)];
      return [String(name), filename === undefined && value instanceof File ? value : new File([value], filename ?? 'blob', { type: value.type })];
    }
    append(name, value, filename) { this.#list.push(this.#entry(name, value, filename)); }
    set(name, value, filename) {
      const at = this.#list.findIndex(([key]) => key === String(name)), entry = this.#entry(name, value, filename);
      this.#list = this.#list.filter(([key], i) => key !== entry[0] || i === at);
      if (at < 0) this.#list.push(entry);
      else this.#list[at] = entry;
    }
    get(name) { return this.#list.find(([key]) => key === String(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([key]) => key === String(name)).map(([, value]) => value); }
    has(name) { return this.#list.some(([key]) => key === String(name)); }
    delete(name) { this.#list = this.#list.filter(([key]) => key !== String(name)); }
    * entries() { yield* this.#list.map((entry) => [...entry]); }
    * keys() { for (const [key] of this.#list) yield key; }
    * values() { for (const [, value] of this.#list) yield value; }
    forEach(fn, self) { for (const [key, value] of this.#list) fn.call(self, value, key, this); }
    [Symbol.iterator]() { return this.entries(); }
    [$.customInspect]() { return `FormData ${$.inspect(Object.fromEntries(this))}`; }
  }
  $.define(FormData.prototype, 'toJSON', function toJSON() { return Object.fromEntries(this); });
  const quoted = (text) => text.replace(/\r\n?|\n/g, '%0D%0A').replace(/"/g, '%22');
  const multipart = (form) => {
    const parts = [];
    for (const [name, value] of form) {
      const file = value instanceof Blob ? `; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}` : '';
      parts.push(`--${form[streamOf]}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n\r\n`, value, '\r\n');
    }
    return $.bytesInBlob(new Blob([...parts, `--${form[streamOf]}--\r\n`]));
  };

  // Adds the parts of a multipart body to a form. The bytes are read as Latin-1,
  // in which each is one character.
  const fillFrom = (form, bytes, boundary) => {
    const text = $.textOf(bytes, 'latin1'), end = `\r\n--${boundary}`, broken = () => new TypeError('the body is not a valid multipart form');
    const inBytes = (latin1) => $.bytesIn(latin1, 'latin1'), inText = (latin1) => $.decode(inBytes(latin1), false);
    const unquoted = (name) => inText(name).replace(/%0D%0A/gi, '\r\n').replace(/%22/g, '"');
    if (boundary === undefined || !`\r\n${text}`.startsWith(end)) throw broken();
    let at = boundary.length + 2;
    while (!text.startsWith('--', at)) {
      const start = text.indexOf('\r\n\r\n', at), stop = text.indexOf(end, start + 2), head = text.slice(at, start);
      const [, name] = /^content-disposition:\s*form-data\s*;.*?\bname="([^"]*)"/im.exec(head) ?? [];
      if (start < 0 || stop < 0 || name === undefined || !text.startsWith('\r\n', at)) throw broken();
      const [, file] = /;\s*filename="([^"]*)"/i.exec(head) ?? [], content = text.slice(start + 4, stop);
      const [, type = 'text/plain'] = /^content-type:\s*(.*?)\s*$/im.exec(head) ?? [];
      form.append(unquoted(name), file === undefined ? inText(content) : new File([inBytes(content)], unquoted(file), { type }));
      at = stop + end.length;
    }
  };

  const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
  class Request extends Body {
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      const method = String(init.method ?? from?.method ?? 'GET');
      const upper = known.has(method.toUpperCase()) ? method.toUpperCase() : method;
      const body = init.body ?? from?.[streamOf];
      if (body !== undefined && body !== null && (upper === 'GET' || upper === 'HEAD')) throw new TypeError('Request with GET/HEAD method cannot have body.');
      super(body);
      if (!token.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
      this.url = new URL(from ? from.url : input).href;
      this.method = upper;
      this.headers = new Headers(init.headers ?? from?.headers);
      const type = init.body === undefined || init.body === null ? null : typeOf(init.body);
      if (type && !this.headers.has('content-type')) this.headers.set('content-type', type);
      this.redirect = init.redirect ?? from?.redirect ?? 'follow';
      this.signal = init.signal ?? from?.signal ?? null;
    }
    clone() { return new Request(this); }
  }
  class Response extends Body {
    constructor(body, init = {}, stream, signal) {
      super(body, stream, signal);
      this.status = init.status === undefined ? 200 : Number(init.status);
      if (stream === undefined && !(this.status >= 200 && this.status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
      this.statusText = init.statusText ?? '';
      this.headers = new Headers(init.headers);
      const type = body === undefined || body === null ? null : typeOf(body);
      if (type && !this.headers.has('content-type')) this.headers.set('content-type', type);
      this.url = init.url ?? '';
      this.redirected = Boolean(init.redirected);
      this.type = 'default';
    }
    get ok() { return this.status >= 200 && this.status < 300; }
    clone() {
      if (this.bodyUsed) throw new TypeError('Response.clone: Body has already been consumed.');
      if (this[streamOf] === null && this.body !== null) throw new TypeError('a response from the network can be read only once: keep its text');
      return new Response(this[streamOf], this);
    }
    static json(data, init = {}) {
      const response = new Response(JSON.stringify(data), init);
      if (!new Headers(init.headers).has('content-type')) response.headers.set('content-type', 'application/json');
      return response;
    }
    static error() { return Object.assign(new Response(null), { status: 0, type: 'error' }); }
    static redirect(url, status = 302) {
      const { href } = new URL(url);
      if (![301, 302, 303, 307, 308].includes(Number(status))) throw new RangeError(`Invalid status code ${status}`);
      return new Response(null, { status, headers: { location: href } });
    }
    [$.customInspect]() { return `Response ${$.inspect({ status: this.status, statusText: this.statusText, headers: this.headers, ok: this.ok, redirected: this.redirected, url: this.url })}`; }
  }

  const failed = (error) => {
    if (error instanceof PolicyError || !(error instanceof ToolError) || error.code === 'tool.timeout') return error;
    const outer = Object.assign(new TypeError('fetch failed', { cause: error }), { code: error.code });
    // the place is that of the call of fetch, the error is the host's
    if (typeof error.stack === 'string') $.define(outer, 'stack', error.stack.replace(/^.*/, 'TypeError: fetch failed'));
    $.define(outer, 'fault', error.code);
    if (error.hint) $.define(outer, 'hint', error.hint);
    $.faults.add(outer);
    return outer;
  };

  $.expose('fetch', async function fetch(input, init = {}) {
    const request = new Request(input, init), { signal } = request;
    signal?.throwIfAborted();
    const call = $.call('wexec:fetch', { method: request.method, url: request.url, headers: [...request.headers],
      body: request[streamOf] === null ? '' : $.toBase64(request[streamOf]), redirect: request.redirect });
    const aborted = signal ? new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason), { once: true }); }) : undefined;
    let answer;
    try {
      answer = await (aborted ? Promise.race([call, aborted]) : call);
    } catch (error) {
      if (signal?.aborted) call.then(({ body }) => $.call('wexec:close', { stream: body })).catch(() => {});
      throw failed(error);
    }
    return new Response(undefined, answer, answer.body, signal);
  });
  for (const type of [Headers, Request, Response, FormData]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
    $.expose(type.name, type);
  }
};
