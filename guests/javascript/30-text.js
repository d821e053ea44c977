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
  const constants = ['INDEX_SIZE', 'DOMSTRING_SIZE', 'HIERARCHY_REQUEST', 'WRONG_DOCUMENT', 'INVALID_CHARACTER', 'NO_DATA_ALLOWED',
    'NO_MODIFICATION_ALLOWED', 'NOT_FOUND', 'NOT_SUPPORTED', 'INUSE_ATTRIBUTE', 'INVALID_STATE', 'SYNTAX', 'INVALID_MODIFICATION', 'NAMESPACE',
    'INVALID_ACCESS', 'VALIDATION', 'TYPE_MISMATCH', 'SECURITY', 'NETWORK', 'ABORT', 'URL_MISMATCH', 'QUOTA_EXCEEDED', 'TIMEOUT',
    'INVALID_NODE_TYPE', 'DATA_CLONE'];
  const withoutName = ['DOMSTRING_SIZE', 'NO_DATA_ALLOWED', 'VALIDATION'];
  const codes = { InUseAttributeError: 10, URLMismatchError: 21 };
  constants.forEach((constant, i) => {
    for (const owner of [DOMException, DOMException.prototype]) Object.defineProperty(owner, `${constant}_ERR`, { value: i + 1, enumerable: true });
    const name = constant.split('_').map((word) => word[0] + word.slice(1).toLowerCase()).join('');
    if (!withoutName.includes(constant)) codes[`${name}Error`] = i + 1;
  });
  Object.defineProperty(DOMException.prototype, Symbol.toStringTag, { value: 'DOMException', configurable: true });
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
    return $.codesIn(bytes);
  });

  // ---- UTF-8 ----
  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return new Uint8Array($.encode(String(text).toWellFormed())); }
    encodeInto(text, target) {
      if ($.kind(target) !== 'Uint8Array') throw $.coded(new TypeError('The "dest" argument must be an instance of Uint8Array.'), 'ERR_INVALID_ARG_TYPE');
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
  // how many bytes at the end are the beginning of a character
  const unfinished = (bytes) => {
    for (let back = 1; back <= 3 && back <= bytes.length; back++) {
      const lead = bytes[bytes.length - back], second = bytes[bytes.length - back + 1];
      if (lead < 0x80) return 0;
      if (lead < 0xc0) continue;
      const size = lead < 0xc2 || lead > 0xf4 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      if (size <= back) return 0;
      const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80, high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
      return back === 1 || (second >= low && second <= high) ? back : 0;
    }
    return 0;
  };
  const optionsOf = (options) => {
    if (options !== undefined && options !== null && typeof options !== 'object' && typeof options !== 'function') {
      throw $.coded(new TypeError('The "options" argument must be of type object.'), 'ERR_INVALID_ARG_TYPE');
    }
    return options ?? {};
  };

  class TextDecoder {
    #encoding; #fatal; #ignoreBOM; #held = new Uint8Array(0); #begun = false;
    constructor(label = 'utf-8', options = {}) {
      const name = $.encodingOf(String(label)), { fatal, ignoreBOM } = optionsOf(options);
      if (name === undefined || name === 'replacement' || !(name.startsWith('utf-') || $.upperHalf(name))) {
        throw $.coded(new RangeError(`The "${label}" encoding is not supported`), 'ERR_ENCODING_NOT_SUPPORTED');
      }
      this.#encoding = name;
      this.#fatal = Boolean(fatal);
      this.#ignoreBOM = Boolean(ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input = undefined, options = {}) {
      const given = input === undefined ? new Uint8Array(0) : bytesOf(input);
      let bytes = given;
      if (this.#held.length > 0) {
        bytes = new Uint8Array(this.#held.length + given.length);
        bytes.set(this.#held);
        bytes.set(given, this.#held.length);
      }
      const stream = Boolean(optionsOf(options).stream), cut = bytes.length - (stream ? this.#unfinished(bytes) : 0);
      const begun = this.#begun;
      this.#held = new Uint8Array(0);
      this.#begun = false;
      let text = this.#text(bytes.subarray(0, cut));
      if (!begun && !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff && this.#encoding.startsWith('utf-')) text = text.slice(1);
      if (stream) {
        this.#held = bytes.slice(cut);
        this.#begun = begun || cut > 0;
      }
      return text;
    }
    #unfinished(bytes) {
      if (this.#encoding === 'utf-8') return unfinished(bytes);
      if (!this.#encoding.startsWith('utf-16')) return 0;
      const odd = bytes.length % 2, high = bytes[bytes.length - odd - (this.#encoding === 'utf-16be' ? 2 : 1)];
      return odd + (high >= 0xd8 && high <= 0xdb ? 2 : 0);
    }
    #text(bytes) {
      if (this.#encoding === 'utf-8') {
        const text = $.decode(bytes, this.#fatal);
        if (text === -1) throw this.#invalid();
        return text;
      }
      return this.#encoding.startsWith('utf-16') ? this.#wide(bytes) : this.#narrow(bytes);
    }
    #wide(bytes) {
      const units = new Uint16Array(bytes.length >> 1), first = this.#encoding === 'utf-16be' ? 8 : 0;
      for (let i = 0; i < units.length; i++) units[i] = (bytes[2 * i] << first) | (bytes[2 * i + 1] << (8 - first));
      let text = $.codesIn(units);
      const last = units[units.length - 1];
      // a byte that is left over ends the half of a pair before it too
      if (bytes.length % 2 === 1 && !(last >= 0xd800 && last <= 0xdbff)) text += '\ufffd';
      if (this.#fatal && (bytes.length % 2 === 1 || !text.isWellFormed())) throw this.#invalid();
      return text.toWellFormed();
    }
    #narrow(bytes) {
      const upper = $.upperHalf(this.#encoding);
      const text = Array.from(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : upper[byte - 0x80])).join('');
      if (this.#fatal && text.includes('\ufffd')) throw this.#invalid();
      return text;
    }
    #invalid() {
      return $.coded(new TypeError(`The encoded data was not valid for encoding ${this.#encoding}`), 'ERR_ENCODING_INVALID_ENCODED_DATA');
    }
  }
  $.codesIn = (codes) => {
    let text = '';
    for (let i = 0; i < codes.length; i += 4096) text += String.fromCharCode(...codes.subarray(i, i + 4096));
    return text;
  };
  $.coded = (error, code) => {
    error.code = code;
    return error;
  };
  const bytesOf = (value) => {
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
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
        throw new DOMException('The requested length exceeds 65,536 bytes', 'QuotaExceededError');
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
