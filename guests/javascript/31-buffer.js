// Buffer: bytes with encodings and numbers, as Node has them.
($) => {
  const names = { utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', latin1: 'latin1', binary: 'latin1',
    ascii: 'ascii', utf16le: 'utf16le', 'utf-16le': 'utf16le', ucs2: 'utf16le', 'ucs-2': 'utf16le' };
  const encodingOf = (encoding) => {
    if (encoding === undefined || encoding === null || encoding === '') return 'utf8';
    const name = names[String(encoding).toLowerCase()];
    if (!name) throw $.coded(new TypeError(`Unknown encoding: ${encoding}`), 'ERR_UNKNOWN_ENCODING');
    return name;
  };
  const codesIn = (bytes, mask) => {
    let text = '';
    for (let i = 0; i < bytes.length; i += 4096) {
      const part = bytes.subarray(i, i + 4096);
      text += String.fromCharCode(...(mask === 255 ? part : Array.from(part, (b) => b & mask)));
    }
    return text;
  };
  const hexPairs = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));

  // bytes as text, and text as bytes, in an encoding
  const textOf = (bytes, encoding) => {
    const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    switch (encodingOf(encoding)) {
      case 'hex': return Array.from(plain, (b) => hexPairs[b]).join('');
      case 'base64': return $.toBase64(plain);
      case 'base64url': return $.toBase64(plain).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
      case 'latin1': return codesIn(plain, 255);
      case 'ascii': return codesIn(plain, 127);
      case 'utf16le': {
        let text = '';
        for (let i = 0; i + 1 < plain.length; i += 2) text += String.fromCharCode(plain[i] | (plain[i + 1] << 8));
        return text;
      }
      default: return $.decode(plain, false);
    }
  };
  const bytesIn = (text, encoding) => {
    switch (encodingOf(encoding)) {
      case 'hex': {
        const good = /^(?:[0-9a-f]{2})*/i.exec(text)[0];
        return Uint8Array.from({ length: good.length >> 1 }, (_, i) => parseInt(good.slice(2 * i, 2 * i + 2), 16));
      }
      case 'base64': case 'base64url': {
        const clean = text.replace(/=.*$/s, '').replace(/-/g, '+').replace(/_/g, '/').replace(/[^A-Za-z0-9+/]/g, '');
        return $.fromBase64(clean.length % 4 === 1 ? clean.slice(0, -1) : clean);
      }
      case 'latin1': case 'ascii': return Uint8Array.from(text, (c) => c.charCodeAt(0)).slice(0, text.length);
      case 'utf16le': {
        const bytes = new Uint8Array(text.length * 2);
        for (let i = 0; i < text.length; i++) {
          bytes[2 * i] = text.charCodeAt(i);
          bytes[2 * i + 1] = text.charCodeAt(i) >> 8;
        }
        return bytes;
      }
      default: return new Uint8Array($.encode(text.toWellFormed()));
    }
  };

  const wrongType = (name, value) => $.coded(new TypeError(`The ${name} argument must be of type string or an instance of Buffer, ArrayBuffer, or Array `
    + `or an Array-like Object. Received ${value === null || value === undefined ? String(value) : `type ${typeof value} (${$.inspect(value)})`}`), 'ERR_INVALID_ARG_TYPE');
  const outOfRange = (name, range, value) => $.coded(new RangeError(`The value of "${name}" is out of range. It must be ${range}. Received ${value}`), 'ERR_OUT_OF_RANGE');

  class Buffer extends Uint8Array {
    // as Node's old constructor: new Buffer('text'), new Buffer(10)
    constructor(value, at, length) {
      if (typeof value === 'string') super(bytesIn(value, at));
      else super(value, at, length);
    }
    static from(value, at, length) {
      if (typeof value === 'string') return viewOf(bytesIn(value, at));
      if (value instanceof ArrayBuffer) return new Buffer(value, at, length);
      if (typeof value !== 'object' || value === null) throw wrongType('first', value);
      if (ArrayBuffer.isView(value) || Array.isArray(value)) return viewOf(Uint8Array.from(value));
      if (value.type === 'Buffer' && Array.isArray(value.data)) return viewOf(Uint8Array.from(value.data));
      const inner = value.valueOf();
      if (inner !== value && inner !== null && inner !== undefined) return Buffer.from(inner, at, length);
      if (typeof value.length === 'number') return viewOf(Uint8Array.from(value));
      throw wrongType('first', value);
    }
    static alloc(size, fill, encoding) {
      if (typeof size !== 'number') throw $.coded(new TypeError(`The "size" argument must be of type number. Received ${$.inspect(size)}`), 'ERR_INVALID_ARG_TYPE');
      if (!(size >= 0 && size <= 2 ** 31)) throw outOfRange('size', '>= 0 && <= 2147483648', size);
      const made = new Buffer(size);
      return fill === undefined || fill === 0 ? made : made.fill(fill, encoding);
    }
    static allocUnsafe(size) { return Buffer.alloc(size); }
    static allocUnsafeSlow(size) { return Buffer.alloc(size); }
    static concat(list, total) {
      if (!Array.isArray(list)) throw $.coded(new TypeError(`The "list" argument must be an instance of Array. Received ${$.inspect(list)}`), 'ERR_INVALID_ARG_TYPE');
      const whole = Buffer.alloc(total ?? list.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of list) {
        if (at >= whole.length) break;
        whole.set(part.length > whole.length - at ? part.subarray(0, whole.length - at) : part, at);
        at += part.length;
      }
      return whole;
    }
    static byteLength(value, encoding) { return typeof value === 'string' ? bytesIn(value, encoding).length : value.byteLength; }
    static isBuffer(value) { return value instanceof Buffer; }
    static isEncoding(name) { return typeof name === 'string' && names[name.toLowerCase()] !== undefined; }
    static compare(a, b) { return Buffer.prototype.compare.call(a, b); }

    toString(encoding, start = 0, end = this.length) { return textOf(start <= 0 && end >= this.length ? this : this.subarray(Math.max(start, 0), Math.max(end, 0)), encoding); }
    toLocaleString(encoding, start, end) { return this.toString(encoding, start, end); }
    toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
    write(text, at, length, encoding) {
      if (typeof at === 'string') [at, encoding] = [0, at];
      else if (typeof length === 'string') [length, encoding] = [undefined, length];
      at ??= 0;
      const room = Math.min(length ?? Infinity, this.length - at);
      let bytes = bytesIn(text, encoding);
      if (bytes.length > room) {
        let cut = room;
        if (encodingOf(encoding) === 'utf8') while (cut > 0 && (bytes[cut] & 0xc0) === 0x80) cut--; // whole characters only
        bytes = bytes.subarray(0, cut);
      }
      this.set(bytes, at);
      return bytes.length;
    }
    slice(start, end) { return this.subarray(start, end); }
    equals(other) { return this.compare(other) === 0; }
    compare(other, start = 0, end = other.length, from = 0, to = this.length) {
      if (!ArrayBuffer.isView(other)) throw wrongType('"target"', other);
      const a = this.subarray(from, to), b = other.subarray(start, end), shared = Math.min(a.length, b.length);
      for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
      return Math.sign(a.length - b.length);
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    fill(value, at, end, encoding) {
      if (typeof at === 'string') [at, encoding] = [undefined, at];
      else if (typeof end === 'string') [end, encoding] = [undefined, end];
      if (typeof value === 'number') return super.fill(value & 255, at, end);
      const pattern = typeof value === 'string' ? bytesIn(value, encoding) : value, part = this.subarray(at, end);
      for (let i = 0; i < part.length; i++) part[i] = pattern.length ? pattern[i % pattern.length] : 0;
      return this;
    }
    indexOf(value, at, encoding) { return search(this, value, at, encoding, 1); }
    lastIndexOf(value, at, encoding) { return search(this, value, at, encoding, -1); }
    includes(value, at, encoding) { return this.indexOf(value, at, encoding) >= 0; }
    swap16() { return swapped(this, 2); }
    swap32() { return swapped(this, 4); }
    swap64() { return swapped(this, 8); }
    readUIntBE(at, size) { let n = 0; for (let i = 0; i < size; i++) n = n * 256 + this[checked(this, at, size) + i]; return n; }
    readUIntLE(at, size) { let n = 0; for (let i = size - 1; i >= 0; i--) n = n * 256 + this[checked(this, at, size) + i]; return n; }
    readIntBE(at, size) { const n = this.readUIntBE(at, size); return n >= 2 ** (8 * size - 1) ? n - 2 ** (8 * size) : n; }
    readIntLE(at, size) { const n = this.readUIntLE(at, size); return n >= 2 ** (8 * size - 1) ? n - 2 ** (8 * size) : n; }
    writeUIntBE(n, at, size) { checked(this, at, size); for (let i = size - 1; i >= 0; i--, n = Math.floor(n / 256)) this[at + i] = n; return at + size; }
    writeUIntLE(n, at, size) { checked(this, at, size); for (let i = 0; i < size; i++, n = Math.floor(n / 256)) this[at + i] = n; return at + size; }
    writeIntBE(n, at, size) { return this.writeUIntBE(n < 0 ? n + 2 ** (8 * size) : n, at, size); }
    writeIntLE(n, at, size) { return this.writeUIntLE(n < 0 ? n + 2 ** (8 * size) : n, at, size); }
    [$.customInspect]() {
      const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? 's' : ''}` : '';
      return `<Buffer${Array.from(this.subarray(0, 50), (b) => ` ${hexPairs[b]}`).join('')}${more}>`;
    }
  }
  const viewOf = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.length);

  const checked = (buffer, at = 0, size = 1) => {
    if (typeof at !== 'number') throw $.coded(new TypeError(`The "offset" argument must be of type number. Received ${$.inspect(at)}`), 'ERR_INVALID_ARG_TYPE');
    if (!(at >= 0 && at + size <= buffer.length)) {
      if (buffer.length < size) throw $.coded(new RangeError('Attempt to access memory outside buffer bounds'), 'ERR_BUFFER_OUT_OF_BOUNDS');
      throw outOfRange('offset', `>= 0 and <= ${buffer.length - size}`, at);
    }
    return at;
  };
  const search = (buffer, value, at, encoding, step) => {
    if (typeof at === 'string') [at, encoding] = [undefined, at];
    const wanted = typeof value === 'number' ? [value & 255] : typeof value === 'string' ? bytesIn(value, encoding) : value;
    const last = buffer.length - wanted.length;
    let i = at === undefined ? (step > 0 ? 0 : last) : at < 0 ? Math.max(buffer.length + at, step > 0 ? 0 : -1) : at;
    for (i = Math.min(i, step > 0 ? Infinity : last); i >= 0 && i <= last; i += step) {
      let same = 0;
      while (same < wanted.length && buffer[i + same] === wanted[same]) same++;
      if (same === wanted.length) return i;
    }
    return -1;
  };
  const swapped = (buffer, size) => {
    if (buffer.length % size !== 0) throw $.coded(new RangeError(`Buffer size must be a multiple of ${size * 8}-bits`), 'ERR_INVALID_BUFFER_SIZE');
    for (let i = 0; i < buffer.length; i += size) buffer.subarray(i, i + size).reverse();
    return buffer;
  };

  // readInt32LE and its kin, by the names of DataView
  const ranges = { Uint8: [0, 255], Int8: [-128, 127], Uint16: [0, 65535], Int16: [-32768, 32767], Uint32: [0, 2 ** 32 - 1], Int32: [-(2 ** 31), 2 ** 31 - 1] };
  for (const [type, size] of [['Uint8', 1], ['Int8', 1], ['Uint16', 2], ['Int16', 2], ['Uint32', 4], ['Int32', 4], ['Float32', 4], ['Float64', 8], ['BigInt64', 8], ['BigUint64', 8]]) {
    for (const end of size === 1 ? [''] : ['LE', 'BE']) {
      const read = (buffer, at = 0) => new DataView(buffer.buffer, buffer.byteOffset)[`get${type}`](checked(buffer, at, size), end === 'LE');
      const write = (buffer, value, at = 0) => {
        const [low, high] = ranges[type] ?? [-Infinity, Infinity];
        if (typeof value === 'number' && (value < low || value > high)) throw outOfRange('value', `>= ${low} and <= ${high}`, value);
        new DataView(buffer.buffer, buffer.byteOffset)[`set${type}`](checked(buffer, at, size), value, end === 'LE');
        return at + size;
      };
      const name = { Float32: 'Float', Float64: 'Double', BigUint64: 'BigUInt64' }[type] ?? type.replace('Uint', 'UInt');
      for (const spelled of new Set([name, name.replace('UInt', 'Uint')])) {
        $.define(Buffer.prototype, `read${spelled}${end}`, function readNumber(at) { return read(this, at); });
        $.define(Buffer.prototype, `write${spelled}${end}`, function writeNumber(value, at) { return write(this, value, at); });
      }
    }
  }
  $.define(Buffer, 'poolSize', 8192);
  $.bufferOf = viewOf; // over the same bytes
  $.textOf = textOf;
  $.bytesIn = bytesIn;
  $.expose('Buffer', Buffer);

  // ---- Blob and File ----
  const dictionary = (value) => {
    if (value !== undefined && value !== null && typeof value !== 'object' && typeof value !== 'function') {
      throw $.coded(new TypeError('The "options" argument must be of type object.'), 'ERR_INVALID_ARG_TYPE');
    }
    return value ?? {};
  };
  const typeText = (type) => (/^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : '');
  class Blob {
    #bytes; #type;
    constructor(parts = [], options = {}) {
      if (typeof parts !== 'object' && typeof parts !== 'function' || parts === null || typeof parts[Symbol.iterator] !== 'function') {
        throw $.coded(new TypeError('The "sources" argument must be a sequence.'), 'ERR_INVALID_ARG_TYPE');
      }
      const list = [];
      for (const part of parts) {
        if (part instanceof Blob) list.push(part.#bytes);
        else list.push(ArrayBuffer.isView(part) || part instanceof ArrayBuffer ? $.bytesOf(part) : `${part}`);
      }
      const { endings = 'transparent', type = '' } = dictionary(options);
      if (!['transparent', 'native'].includes(String(endings))) {
        throw $.coded(new TypeError(`The "options.endings" property is invalid: ${endings}`), 'ERR_INVALID_ARG_VALUE');
      }
      const ended = (text) => (String(endings) === 'native' ? text.replace(/\r\n?/g, '\n') : text);
      this.#bytes = new Uint8Array(Buffer.concat(list.map((part) => (typeof part === 'string' ? bytesIn(ended(part)) : part))).buffer);
      this.#type = typeText(String(type));
    }
    static bytesIn(blob) { return blob.#bytes; }
    get size() { return this.#bytes.length; }
    get type() { return this.#type; }
    async bytes() { return this.#bytes.slice(); }
    async arrayBuffer() { return this.#bytes.slice().buffer; }
    async text() { return $.decode(this.#bytes, false); }
    slice(start, end, type = '') { return new Blob([this.#bytes.slice(start, end)], { type }); }
    [$.customInspect]() { return `Blob { size: ${this.size}, type: ${$.inspect(this.#type)} }`; }
  }
  class File extends Blob {
    constructor(parts, name, options = {}) {
      if (arguments.length < 2) throw $.coded(new TypeError('The "fileBits" and "fileName" arguments must be specified'), 'ERR_MISSING_ARGS');
      super(parts, options);
      const { lastModified = Date.now() } = dictionary(options);
      $.define(this, 'name', String(name).toWellFormed());
      $.define(this, 'lastModified', Math.trunc(Number(lastModified)) || 0);
    }
  }
  $.define(Blob.prototype, 'toJSON', function toJSON() {
    const error = new TypeError('a Blob has no JSON form');
    $.define(error, 'hint', 'read the content with await blob.text() or await blob.bytes()');
    throw error;
  });
  $.bytesInBlob = Blob.bytesIn;
  delete Blob.bytesIn;
  for (const type of [Blob, File]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
    $.expose(type.name, type);
  }
};
