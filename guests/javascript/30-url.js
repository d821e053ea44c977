// URL and URLSearchParams as the WHATWG URL Standard defines them.
($) => {
  const special = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
  const isSpecial = (scheme) => Object.hasOwn(special, scheme);

  // ---- percent-encoding ----
  const sets = (() => {
    const c0 = (c) => c <= 0x1f || c > 0x7e;
    const of = (base, more) => (c) => base(c) || more.includes(String.fromCharCode(c));
    const fragment = of(c0, ' "<>`');
    const query = of(c0, ' "#<>');
    const path = of(query, '?^`{}');
    const userinfo = of(path, '/:;=@[\\]|');
    return { c0, fragment, query, specialQuery: of(query, "'"), path, userinfo };
  })();
  const encode = (text, inSet) => {
    let out = '';
    for (const c of text) {
      const code = c.codePointAt(0);
      if (!inSet(code)) {
        out += c;
        continue;
      }
      for (const byte of new Uint8Array($.encode(c.toWellFormed()))) out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }
    return out;
  };
  const decodeBytes = (text) => {
    const bytes = new Uint8Array($.encode(text.toWellFormed()));
    const out = [];
    for (let i = 0; i < bytes.length; i++) {
      const pair = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1] || 0, bytes[i + 2] || 0) : '';
      if (/^[0-9a-fA-F]{2}$/.test(pair)) {
        out.push(parseInt(pair, 16));
        i += 2;
      } else out.push(bytes[i]);
    }
    return new Uint8Array(out);
  };
  const decode = (text) => $.decode(decodeBytes(text), false);

  // ---- hosts ----
  const punycode = (label) => {
    const points = Array.from(label, (c) => c.codePointAt(0));
    let out = points.filter((c) => c < 128).map((c) => String.fromCharCode(c)).join('');
    const basic = out.length;
    let handled = basic, n = 128, delta = 0, bias = 72;
    if (basic > 0) out += '-';
    const digit = (d) => String.fromCharCode(d < 26 ? d + 97 : d + 22);
    while (handled < points.length) {
      const next = Math.min(...points.filter((c) => c >= n));
      delta += (next - n) * (handled + 1);
      n = next;
      for (const c of points) {
        if (c < n) delta++;
        if (c !== n) continue;
        let q = delta;
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          if (q < t) break;
          out += digit(t + ((q - t) % (36 - t)));
          q = Math.floor((q - t) / (36 - t));
        }
        out += digit(q);
        delta = handled === basic ? Math.floor(delta / 700) : delta >> 1;
        delta += Math.floor(delta / (handled + 1));
        let k = 0;
        for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
        bias = k + Math.floor((36 * delta) / (delta + 38));
        delta = 0;
        handled++;
      }
      delta++;
      n++;
    }
    return out;
  };
  // Whether a label that says it is Punycode is the Punycode of some text.
  const isLabel = (label) => {
    if (!label.startsWith('xn--')) return true;
    const text = label.slice(4), dash = text.lastIndexOf('-'), points = Array.from(text.slice(0, Math.max(dash, 0)), (c) => c.codePointAt(0));
    let n = 128, at = 0, bias = 72, first = true;
    for (let i = dash + 1; i < text.length;) {
      const before = at;
      for (let weight = 1, k = 36; ; k += 36) {
        const c = text.charCodeAt(i++), digit = c >= 97 && c <= 122 ? c - 97 : c >= 48 && c <= 57 ? c - 22 : NaN;
        at += digit * weight;
        if (!(at < 2 ** 31)) return false;
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (digit < t) break;
        weight *= 36 - t;
      }
      const count = points.length + 1;
      let delta = first ? Math.floor(at / 700) : (at - before) >> 1, k = 0;
      for (delta += Math.floor(delta / count); delta > 455; k += 36) delta = Math.floor(delta / 35);
      bias = k + Math.floor((36 * delta) / (delta + 38));
      n += Math.floor(at / count);
      at %= count;
      if (n > 0x10ffff) return false;
      points.splice(at++, 0, n);
      first = false;
    }
    const decoded = String.fromCodePoint(...points);
    return !first && !/[\p{Cn}\p{Cs}\p{Co}]/u.test(decoded) && decoded === decoded.normalize('NFKC').toLowerCase();
  };
  const forbiddenHost = /[\0\t\n\r #/:<>?@[\\\]^|]/;
  const forbiddenDomain = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;
  const ignoredInDomain = /[\u00ad\u034f\u180b-\u180d\u200b\u2060\ufe00-\ufe0f\ufeff]/g;
  const isASCII = (text) => /^[\0-\x7f]*$/.test(text);

  const ipv4Number = (part) => {
    if (part === '') return NaN;
    if (/^0[xX][0-9a-fA-F]*$/.test(part)) return part.length === 2 ? 0 : parseInt(part.slice(2), 16);
    if (/^0\d+$/.test(part)) return /^[0-7]+$/.test(part) ? parseInt(part, 8) : NaN;
    return /^\d+$/.test(part) ? parseInt(part, 10) : NaN;
  };
  // the IPv4 address, undefined if the host is not one, null if it is invalid
  const ipv4 = (host) => {
    const parts = host.split('.');
    if (parts.length > 1 && parts[parts.length - 1] === '') parts.pop();
    const last = parts[parts.length - 1];
    if (!/^\d+$/.test(last) && !/^0[xX][0-9a-fA-F]*$/.test(last)) return undefined;
    if (parts.length > 4) return null;
    const numbers = parts.map(ipv4Number);
    if (numbers.some(Number.isNaN)) return null;
    const tail = numbers.pop();
    if (numbers.some((n) => n > 255) || tail >= 256 ** (4 - numbers.length)) return null;
    let value = tail;
    numbers.forEach((n, i) => { value += n * 256 ** (3 - i); });
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  };
  const ipv6 = (text) => {
    let source = text;
    const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(source);
    if (dotted) {
      const b = dotted.slice(2).map(Number);
      if (b.some((n) => n > 255) || dotted.slice(2).some((n) => n.length > 1 && n[0] === '0')) return null;
      source = `${dotted[1]}${((b[0] << 8) | b[1]).toString(16)}:${((b[2] << 8) | b[3]).toString(16)}`;
    }
    const halves = source.split('::');
    if (halves.length > 2) return null;
    const piecesOf = (half) => (half === '' ? [] : half.split(':'));
    const head = piecesOf(halves[0]), tail = halves.length === 2 ? piecesOf(halves[1]) : [];
    if ([...head, ...tail].some((piece) => !/^[0-9a-fA-F]{1,4}$/.test(piece))) return null;
    const missing = 8 - head.length - tail.length;
    if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
    const pieces = [...head, ...Array(halves.length === 2 ? missing : 0).fill('0'), ...tail].map((piece) => parseInt(piece, 16));
    let best = -1, bestLength = 1;
    for (let i = 0; i < 8; i++) {
      let j = i;
      while (j < 8 && pieces[j] === 0) j++;
      if (j - i > bestLength) [best, bestLength] = [i, j - i];
      if (j > i) i = j;
    }
    const hex = pieces.map((piece) => piece.toString(16));
    if (best < 0) return `[${hex.join(':')}]`;
    return `[${hex.slice(0, best).join(':')}::${hex.slice(best + bestLength).join(':')}]`;
  };
  // null: invalid host
  const parseHost = (text, scheme) => {
    if (text.startsWith('[')) return text.endsWith(']') ? ipv6(text.slice(1, -1)) : null;
    if (!isSpecial(scheme)) return forbiddenHost.test(text) ? null : encode(text, sets.c0);
    let domain = decode(text).normalize('NFKC').toLowerCase().replace(/[\u3002\uff0e\uff61]/g, '.').replace(ignoredInDomain, '');
    if (/[\ufffd\p{Cn}]/u.test(domain) || !domain.split('.').every(isLabel)) return null;
    if (!isASCII(domain)) {
      domain = domain.split('.').map((label) => (isASCII(label) ? label : `xn--${punycode(label)}`)).join('.');
    }
    if (domain === '' || forbiddenDomain.test(domain)) return null;
    const address = ipv4(domain);
    return address === undefined ? domain : address;
  };

  // ---- parsing ----
  const isWindowsLetter = (text) => /^[A-Za-z][:|]$/.test(text);
  const startsWithLetter = (text) => /^[A-Za-z][:|](?:[/\\]|$)/.test(text);
  const isDrive = (path) => path.length > 0 && /^[A-Za-z]:$/.test(path[0]);
  const shorten = (url) => {
    if (!(url.scheme === 'file:' && url.path.length === 1 && isDrive(url.path))) url.path.pop();
  };
  const isSingleDot = (s) => /^(?:\.|%2e)$/i.test(s);
  const isDoubleDot = (s) => /^(?:\.|%2e){2}$/i.test(s);

  const parsePath = (url, text) => {
    const segments = text.split(isSpecial(url.scheme) ? /[/\\]/ : '/');
    segments.forEach((segment, i) => {
      const last = i === segments.length - 1;
      if (isDoubleDot(segment)) {
        shorten(url);
        if (last) url.path.push('');
      } else if (isSingleDot(segment)) {
        if (last) url.path.push('');
      } else {
        let encoded = encode(segment, sets.path);
        if (url.scheme === 'file:' && url.path.length === 0 && isWindowsLetter(encoded)) encoded = `${encoded[0]}:`;
        url.path.push(encoded);
      }
    });
  };
  const parseAuthority = (url, text) => {
    const at = text.lastIndexOf('@');
    if (at >= 0) {
      const [user, ...rest] = text.slice(0, at).split(':');
      url.username = encode(user, sets.userinfo);
      url.password = encode(rest.join(':'), sets.userinfo);
      if (text.slice(at + 1) === '') return false;
    }
    return parseHostPort(url, text.slice(at + 1));
  };
  const parseHostPort = (url, text) => {
    const found = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text);
    if (!found) return false;
    const [, name, port] = found;
    if (name === '' && (isSpecial(url.scheme) || port !== undefined)) return false;
    const host = name === '' ? '' : parseHost(name, url.scheme);
    if (host === null) return false;
    url.host = host;
    return port === undefined || parsePort(url, port);
  };
  const parsePort = (url, port) => {
    if (!/^\d*$/.test(port) || Number(port) > 65535) return false;
    url.port = port === '' || String(Number(port)) === special[url.scheme] ? '' : String(Number(port));
    return true;
  };
  const splitTail = (url, text) => {
    const hash = text.indexOf('#');
    if (hash >= 0) {
      url.fragment = encode(text.slice(hash + 1), sets.fragment);
      text = text.slice(0, hash);
    }
    const mark = text.indexOf('?');
    if (mark >= 0) {
      url.query = encode(text.slice(mark + 1), isSpecial(url.scheme) ? sets.specialQuery : sets.query);
      text = text.slice(0, mark);
    }
    return text;
  };
  const empty = (scheme) => ({ scheme, username: '', password: '', host: null, port: '', path: [], opaque: null, query: null, fragment: null });

  // null: not a URL
  const parse = (input, base) => {
    const text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
    const found = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
    if (!found) return base ? parseRelative(text, base) : null;
    const scheme = `${found[1].toLowerCase()}:`;
    const url = empty(scheme);
    const rest = text.slice(found[0].length);
    if (scheme === 'file:') return parseFile(url, rest, base && base.scheme === 'file:' ? base : null);
    if (isSpecial(scheme)) {
      if (base && base.scheme === scheme && !/^[/\\]{2}/.test(rest)) return parseRelative(rest, base);
      return afterAuthority(url, rest.replace(/^[/\\]*/, ''));
    }
    const body = splitTail(url, rest);
    if (body.startsWith('//')) return afterAuthority(url, rest.slice(2));
    if (body.startsWith('/')) {
      parsePath(url, body.slice(1));
      return url;
    }
    url.opaque = encode(body, sets.c0);
    return url;
  };
  const afterAuthority = (url, text) => {
    const end = text.search(isSpecial(url.scheme) ? /[/\\?#]/ : /[/?#]/);
    const authority = end < 0 ? text : text.slice(0, end);
    if (!parseAuthority(url, authority)) return null;
    const path = splitTail(url, end < 0 ? '' : text.slice(end));
    if (path !== '') parsePath(url, path.slice(1));
    else if (isSpecial(url.scheme)) url.path = [''];
    return url;
  };
  const parseFile = (url, rest, base) => {
    url.host = '';
    const body = splitTail(url, rest);
    const slashes = /^[/\\]*/.exec(body)[0].length;
    if (slashes >= 2) {
      const after = body.slice(2), end = after.search(/[/\\]/);
      const name = end < 0 ? after : after.slice(0, end);
      let path = end < 0 ? '' : after.slice(end);
      if (isWindowsLetter(name)) path = `/${after}`;
      else if (name !== '') {
        const host = parseHost(name, 'file:');
        if (host === null) return null;
        url.host = host === 'localhost' ? '' : host;
      }
      parsePath(url, path.slice(1));
      return url;
    }
    if (slashes === 1) {
      if (base) {
        url.host = base.host;
        if (!startsWithLetter(body.slice(1)) && isDrive(base.path)) url.path.push(base.path[0]);
      }
      parsePath(url, body.slice(1));
      return url;
    }
    if (!base) {
      parsePath(url, body);
      return url;
    }
    url.host = base.host;
    url.path = [...base.path];
    if (body === '') {
      if (url.query === null && !rest.startsWith('?')) url.query = base.query;
    } else {
      if (startsWithLetter(body)) url.path = [];
      else shorten(url);
      parsePath(url, body);
    }
    return url;
  };
  const parseRelative = (text, base) => {
    if (base.opaque !== null) {
      if (!text.startsWith('#')) return null;
      return { ...base, path: [...base.path], fragment: encode(text.slice(1), sets.fragment) };
    }
    if (base.scheme === 'file:') return parseFile(empty('file:'), text, base);
    const slash = isSpecial(base.scheme) ? /^[/\\]/ : /^\//;
    if (slash.test(text) && slash.test(text.slice(1))) {
      return afterAuthority(empty(base.scheme), isSpecial(base.scheme) ? text.replace(/^[/\\]*/, '') : text.slice(2));
    }
    const url = { ...base, path: [...base.path], query: null, fragment: null };
    const path = splitTail(url, text);
    if (path === '') {
      if (!text.startsWith('?')) url.query = text.startsWith('#') || text === '' ? base.query : url.query;
      return url;
    }
    if (slash.test(path)) {
      url.path = [];
      parsePath(url, path.slice(1));
    } else {
      url.path.pop();
      parsePath(url, path);
    }
    return url;
  };
  const pathOf = (url) => (url.opaque !== null ? url.opaque : url.path.map((segment) => `/${segment}`).join(''));
  const serialise = (url) => {
    let text = url.scheme;
    if (url.host !== null) {
      text += '//';
      if (url.username || url.password) text += `${url.username}${url.password ? `:${url.password}` : ''}@`;
      text += url.host + (url.port ? `:${url.port}` : '');
    } else if (url.opaque === null && url.path.length > 1 && url.path[0] === '') text += '/.';
    return text + pathOf(url) + (url.query !== null ? `?${url.query}` : '') + (url.fragment !== null ? `#${url.fragment}` : '');
  };

  // ---- URLSearchParams ----
  const formSafe = /[A-Za-z0-9*\-._]/;
  const formEncode = (text) => {
    let out = '';
    for (const c of String(text).toWellFormed()) {
      if (c === ' ') out += '+';
      else out += formSafe.test(c) ? c : encode(c, () => true);
    }
    return out;
  };
  const formDecode = (text) => text.split('&').filter((part) => part !== '').map((part) => {
    const at = part.indexOf('=');
    const name = at < 0 ? part : part.slice(0, at), value = at < 0 ? '' : part.slice(at + 1);
    return [decode(name.replaceAll('+', ' ')), decode(value.replaceAll('+', ' '))];
  });
  const changed = Symbol('changed');
  const fill = Symbol('fill');

  class URLSearchParams {
    #list = [];
    constructor(init = '') {
      if (typeof init === 'object' && init !== null || typeof init === 'function') {
        if (typeof init[Symbol.iterator] === 'function') {
          for (const pair of init) {
            const items = [...pair];
            if (items.length !== 2) throw $.coded(new TypeError('Each query pair must be an iterable [name, value] tuple'), 'ERR_INVALID_TUPLE');
            this.#list.push([String(items[0]).toWellFormed(), String(items[1]).toWellFormed()]);
          }
        } else {
          const record = new Map(); // names may become equal
          for (const key of Object.keys(init)) record.set(key.toWellFormed(), String(init[key]).toWellFormed());
          this.#list = [...record];
        }
      } else {
        const text = String(init);
        this.#list = formDecode(text.startsWith('?') ? text.slice(1) : text);
      }
    }
    [fill](text) { this.#list = formDecode(text); }
    #update() { if (this[changed]) this[changed](this.toString()); }
    get size() { return this.#list.length; }
    append(name, value) { this.#list.push([String(name).toWellFormed(), String(value).toWellFormed()]); this.#update(); }
    delete(name, value) {
      this.#list = this.#list.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)));
      this.#update();
    }
    get(name) { return this.#list.find(([n]) => n === String(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v); }
    has(name, value) { return this.#list.some(([n, v]) => n === String(name) && (value === undefined || v === String(value))); }
    set(name, value) {
      const at = this.#list.findIndex(([n]) => n === String(name));
      if (at < 0) return this.append(name, value);
      this.#list = this.#list.filter(([n], i) => n !== String(name) || i === at);
      this.#list[at] = [String(name), String(value).toWellFormed()];
      return this.#update();
    }
    sort() { this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#update(); }
    forEach(fn, self) { for (const [name, value] of this.#list) fn.call(self, value, name, this); }
    * entries() { for (let i = 0; i < this.#list.length; i++) yield [...this.#list[i]]; }
    * keys() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0]; }
    * values() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join('&'); }
    [$.customInspect]() {
      if (this.#list.length === 0) return 'URLSearchParams {}';
      return `URLSearchParams { ${this.#list.map(([n, v]) => `${$.quote(n)} => ${$.quote(v)}`).join(', ')} }`;
    }
  }
  $.define(URLSearchParams.prototype, 'toJSON', function toJSON() { return this.toString(); });

  // ---- URL ----
  const invalid = (input, base) => {
    const error = $.coded(new TypeError('Invalid URL'), 'ERR_INVALID_URL');
    error.input = input;
    if (base !== undefined) error.base = base;
    return error;
  };
  const parseBoth = (input, base) => {
    const from = base === undefined ? null : parse(String(base).toWellFormed(), null);
    if (base !== undefined && !from) return null;
    return parse(String(input).toWellFormed(), from);
  };

  class URL {
    #url; #params;
    constructor(input, base) {
      if (arguments.length === 0) throw $.coded(new TypeError('The "url" argument must be specified'), 'ERR_MISSING_ARGS');
      this.#url = parseBoth(input, base);
      if (!this.#url) throw invalid(String(input), base === undefined ? undefined : String(base));
    }
    static canParse(input, base) { return parseBoth(input, base) !== null; }
    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
    get href() { return serialise(this.#url); }
    set href(text) {
      const url = parse(String(text), null);
      if (!url) throw invalid(String(text));
      this.#url = url;
      this.#refill();
    }
    get origin() {
      const { scheme, host, port } = this.#url;
      if (scheme === 'blob:') {
        const inner = parse(pathOf(this.#url), null);
        return inner && (inner.scheme === 'http:' || inner.scheme === 'https:') ? new URL(serialise(inner)).origin : 'null';
      }
      return isSpecial(scheme) && scheme !== 'file:' ? `${scheme}//${host}${port ? `:${port}` : ''}` : 'null';
    }
    get protocol() { return this.#url.scheme; }
    set protocol(text) {
      const found = /^([A-Za-z][A-Za-z0-9+.-]*)(?::|$)/.exec(String(text).replace(/[\t\n\r]/g, ''));
      if (!found) return;
      const scheme = `${found[1].toLowerCase()}:`;
      if (isSpecial(scheme) !== isSpecial(this.#url.scheme)) return;
      if (scheme === 'file:' && (this.#url.username || this.#url.password || this.#url.port)) return;
      if (this.#url.scheme === 'file:' && this.#url.host === '') return;
      this.#url.scheme = scheme;
      if (this.#url.port === special[scheme]) this.#url.port = '';
    }
    #hasNoAuthority() { return !this.#url.host || this.#url.scheme === 'file:'; }
    get username() { return this.#url.username; }
    set username(text) { if (!this.#hasNoAuthority()) this.#url.username = encode(String(text), sets.userinfo); }
    get password() { return this.#url.password; }
    set password(text) { if (!this.#hasNoAuthority()) this.#url.password = encode(String(text), sets.userinfo); }
    get host() { return this.#url.host === null ? '' : this.#url.host + (this.#url.port ? `:${this.#url.port}` : ''); }
    set host(text) {
      if (this.#url.opaque !== null) return;
      const cut = String(text).replace(/[\t\n\r]/g, '').split(isSpecial(this.#url.scheme) ? /[/\\?#]/ : /[/?#]/)[0];
      const [, name, port] = /^(\[[^\]]*\]?|[^:]*)(?::(\d*))?/.exec(cut);
      if (this.#url.scheme === 'file:') this.#setHost(cut, false);
      else if (this.#setHost(name, port !== undefined) && port) parsePort(this.#url, port);
    }
    // A host without a name is allowed where nothing else of the authority needs one.
    #setHost(name, hasPort) {
      const url = this.#url;
      if (name === '' && (isSpecial(url.scheme) ? url.scheme !== 'file:' : hasPort || url.username || url.password || url.port)) return false;
      const host = name === '' ? '' : parseHost(name, url.scheme);
      if (host === null) return false;
      url.host = url.scheme === 'file:' && host === 'localhost' ? '' : host;
      return true;
    }
    get hostname() { return this.#url.host ?? ''; }
    set hostname(text) {
      if (this.#url.opaque !== null) return;
      const whole = String(text).replace(/[\t\n\r]/g, '').split(isSpecial(this.#url.scheme) ? /[/\\?#]/ : /[/?#]/)[0];
      const name = /^(?:\[[^\]]*\]?|[^:]*)/.exec(whole)[0];
      if (name.length === whole.length) this.#setHost(name, false);
    }
    get port() { return this.#url.port; }
    set port(text) {
      if (this.#hasNoAuthority()) return;
      const port = String(text).replace(/[\t\n\r]/g, '');
      const digits = /^\d*/.exec(port)[0];
      if (port === '' || digits !== '') parsePort(this.#url, digits);
    }
    get pathname() { return pathOf(this.#url); }
    set pathname(text) {
      if (this.#url.opaque !== null) return;
      this.#url.path = [];
      if (String(text) !== '' || isSpecial(this.#url.scheme) || this.#url.host === null) parsePath(this.#url, String(text).replace(/[\t\n\r]/g, '').replace(isSpecial(this.#url.scheme) ? /^[/\\]/ : /^\//, '')
        .replace(/[?#]/g, (c) => (c === '?' ? '%3F' : '%23')));
    }
    get search() { return this.#url.query ? `?${this.#url.query}` : ''; }
    set search(text) {
      const query = String(text).replace(/^\?/, '').replace(/[\t\n\r]/g, '');
      this.#url.query = String(text) === '' ? null : encode(query, isSpecial(this.#url.scheme) ? sets.specialQuery : sets.query);
      this.#trimOpaque();
      this.#refill();
    }
    get searchParams() {
      if (!this.#params) {
        this.#params = new URLSearchParams();
        this.#refill();
        $.define(this.#params, changed, (text) => {
          this.#url.query = text === '' ? null : text;
          this.#trimOpaque();
        });
      }
      return this.#params;
    }
    // Spaces at the end of an opaque path would be lost by parsing again.
    #trimOpaque() {
      const url = this.#url;
      if (url.opaque !== null && url.query === null && url.fragment === null) url.opaque = url.opaque.replace(/ +$/, '');
    }
    #refill() { if (this.#params) this.#params[fill](this.#url.query ?? ''); }
    get hash() { return this.#url.fragment ? `#${this.#url.fragment}` : ''; }
    set hash(text) {
      this.#url.fragment = String(text) === '' ? null : encode(String(text).replace(/^#/, '').replace(/[\t\n\r]/g, ''), sets.fragment);
      this.#trimOpaque();
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    [$.customInspect](depth) {
      if (depth < 0) return `[URL]`;
      const fields = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search'];
      const shown = fields.map((name) => `  ${name}: ${$.quote(this[name])},`);
      return `URL {\n${shown.join('\n')}\n  searchParams: ${$.inspect(this.searchParams)},\n  hash: ${$.quote(this.hash)}\n}`;
    }
  }
  for (const type of [URL, URLSearchParams]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
    $.expose(type.name, type);
  }
};
