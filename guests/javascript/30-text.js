// Text and bytes: TextEncoder, TextDecoder, atob, btoa, crypto.
($) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const digits = new Int8Array(128).fill(-1);
  for (let i = 0; i < 64; i++) digits[alphabet.charCodeAt(i)] = i;

  // DOMException has the names that web code checks
  class DOMException extends Error {
    #name;
    constructor(message = '', name = 'Error') {
      super(message);
      this.#name = typeof name === 'object' && name !== null ? String(name.name ?? 'Error') : String(name);
      if (typeof name === 'object' && name !== null && 'cause' in name) $.define(this, 'cause', name.cause);
    }
    get name() { return this.#name; }
    get code() { return codes[this.#name] ?? 0; }
  }
  const codes = { IndexSizeError: 1, InvalidCharacterError: 5, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12,
    InvalidAccessError: 15, NetworkError: 19, AbortError: 20, QuotaExceededError: 22, TimeoutError: 23, DataCloneError: 25 };
  $.DOMException = DOMException;
  $.expose('DOMException', DOMException);

  const toBase64 = (bytes) => {
    const parts = [];
    for (let i = 0; i < bytes.length; i += 3) {
      const group = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
      parts.push(alphabet[group >> 18] + alphabet[(group >> 12) & 63] +
        (i + 1 < bytes.length ? alphabet[(group >> 6) & 63] : '=') + (i + 2 < bytes.length ? alphabet[group & 63] : '='));
    }
    return parts.join('');
  };
  // undefined if the text is not base64
  const decode64 = (text) => {
    let clean = text.replace(/[\t\n\f\r ]+/g, '');
    if (clean.length % 4 === 0) clean = clean.replace(/={1,2}$/, '');
    if (clean.length % 4 === 1) return undefined;
    const bytes = new Uint8Array((clean.length * 3) >> 2);
    let bits = 0, held = 0, n = 0;
    for (let i = 0; i < clean.length; i++) {
      const value = clean.charCodeAt(i) < 128 ? digits[clean.charCodeAt(i)] : -1;
      if (value < 0) return undefined;
      held = ((held << 6) | value) & 0xffff;
      bits += 6;
      if (bits >= 8) bytes[n++] = (held >> (bits -= 8)) & 0xff;
    }
    return bytes;
  };
  $.toBase64 = toBase64;
  $.fromBase64 = (text) => decode64(text) ?? new Uint8Array(0);

  $.expose('btoa', function btoa(value) {
    const text = String(value), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 255) throw new DOMException('Invalid character', 'InvalidCharacterError');
      bytes[i] = code;
    }
    return toBase64(bytes);
  });
  $.expose('atob', function atob(value) {
    const bytes = decode64(String(value));
    if (!bytes) throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
    let text = '';
    for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
    return text;
  });

  // ---- UTF-8 ----
  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return new Uint8Array($.encode(String(text).toWellFormed())); }
    encodeInto(text, target) {
      let read = 0, written = 0;
      for (const c of String(text)) {
        const bytes = new Uint8Array($.encode(c.toWellFormed()));
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += c.length;
      }
      return { read, written };
    }
  }
  const utf8 = new Set(['utf-8', 'utf8', 'unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'x-unicode20utf8']);
  const latin1 = new Set(['latin1', 'iso-8859-1', 'ascii', 'us-ascii', 'windows-1252', 'l1', 'cp1252']);
  const utf16 = new Set(['utf-16le', 'utf-16', 'ucs-2', 'unicode']);
  const high1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

  class TextDecoder {
    #encoding; #fatal; #ignoreBOM; #held = new Uint8Array(0); #bomSeen = false;
    constructor(label = 'utf-8', options = {}) {
      const name = String(label).trim().toLowerCase();
      if (utf8.has(name)) this.#encoding = 'utf-8';
      else if (latin1.has(name)) this.#encoding = 'windows-1252';
      else if (utf16.has(name)) this.#encoding = 'utf-16le';
      else throw $.coded(new RangeError(`The "${label}" encoding is not supported`), 'ERR_ENCODING_NOT_SUPPORTED');
      this.#fatal = Boolean(options?.fatal);
      this.#ignoreBOM = Boolean(options?.ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input, options = {}) {
      const given = input === undefined ? new Uint8Array(0) : bytesOf(input);
      let bytes = given;
      if (this.#held.length > 0) {
        bytes = new Uint8Array(this.#held.length + given.length);
        bytes.set(this.#held);
        bytes.set(given, this.#held.length);
      }
      const stream = Boolean(options?.stream);
      const cut = stream ? this.#complete(bytes) : bytes.length;
      this.#held = bytes.slice(cut);
      let text = this.#text(bytes.subarray(0, cut));
      if (!this.#bomSeen && text !== '') {
        if (!this.#ignoreBOM && this.#encoding !== 'windows-1252' && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
        this.#bomSeen = true;
      }
      if (!stream) this.#bomSeen = false;
      return text;
    }
    // how many bytes hold whole characters
    #complete(bytes) {
      if (this.#encoding === 'utf-16le') return bytes.length & ~1;
      if (this.#encoding !== 'utf-8') return bytes.length;
      for (let back = 1; back <= 3 && back <= bytes.length; back++) {
        const byte = bytes[bytes.length - back];
        if (byte < 0x80) break;
        if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? bytes.length - back : bytes.length;
      }
      return bytes.length;
    }
    #text(bytes) {
      if (this.#encoding === 'windows-1252') {
        let text = '';
        for (const byte of bytes) text += byte >= 0x80 && byte < 0xa0 ? high1252[byte - 0x80] : String.fromCharCode(byte);
        return text;
      }
      if (this.#encoding === 'utf-16le') {
        let text = '';
        for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
        if (bytes.length % 2 === 1) text += '\ufffd';
        if (this.#fatal && !text.isWellFormed()) throw this.#invalid();
        return text.toWellFormed();
      }
      const text = $.decode(bytes, this.#fatal);
      if (text === -1) throw this.#invalid();
      return text;
    }
    #invalid() {
      return $.coded(new TypeError(`The encoded data was not valid for encoding ${this.#encoding}`), 'ERR_ENCODING_INVALID_ENCODED_DATA');
    }
  }
  $.coded = (error, code) => {
    error.code = code;
    return error;
  };
  const bytesOf = (value) => {
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    if (value instanceof ArrayBuffer) return new Uint8Array(value);
    throw $.coded(new TypeError('The "input" argument must be an instance of ArrayBuffer or ArrayBufferView.'), 'ERR_INVALID_ARG_TYPE');
  };
  $.bytesOf = bytesOf;
  for (const type of [TextEncoder, TextDecoder]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
    $.expose(type.name, type);
  }

  // ---- randomness ----
  const integers = new Set(['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
    'Uint32Array', 'BigInt64Array', 'BigUint64Array']);
  const hex = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));
  $.expose('crypto', {
    getRandomValues(array) {
      if (!integers.has($.kind(array))) throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
      if (array.byteLength > 65536) {
        throw new DOMException(`The requested length exceeds 65,536 bytes`, 'QuotaExceededError');
      }
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(new Uint8Array($.random(array.byteLength)));
      return array;
    },
    randomUUID() {
      const b = new Uint8Array($.random(16));
      b[6] = (b[6] & 0x0f) | 0x40;
      b[8] = (b[8] & 0x3f) | 0x80;
      const h = Array.from(b, (byte) => hex[byte]);
      return [h.slice(0, 4), h.slice(4, 6), h.slice(6, 8), h.slice(8, 10), h.slice(10)].map((part) => part.join('')).join('-');
    },
  });
};
