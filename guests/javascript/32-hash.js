// Digests for keys, signatures and checksums.
($) => {
  const rotate = (x, n) => (x << n) | (x >>> (32 - n));
  const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 80; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);

  const K256 = primes.slice(0, 64).map((p) => fraction(Math.cbrt(p)));
  const sha256 = {
    start: primes.slice(0, 8).map((p) => fraction(Math.sqrt(p))), big: true, size: 32,
    block(h, w) {
      for (let i = 16; i < 64; i++) {
        const a = w[i - 15], b = w[i - 2];
        w[i] = (w[i - 16] + (rotate(a, 25) ^ rotate(a, 14) ^ (a >>> 3)) + w[i - 7] + (rotate(b, 15) ^ rotate(b, 13) ^ (b >>> 10))) | 0;
      }
      let [a, b, c, d, e, f, g, k] = h;
      for (let i = 0; i < 64; i++) {
        const s = (k + (rotate(e, 26) ^ rotate(e, 21) ^ rotate(e, 7)) + ((e & f) ^ (~e & g)) + K256[i] + w[i]) | 0;
        const t = ((rotate(a, 30) ^ rotate(a, 19) ^ rotate(a, 10)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        k = g; g = f; f = e; e = (d + s) | 0; d = c; c = b; b = a; a = (s + t) | 0;
      }
      [a, b, c, d, e, f, g, k].forEach((x, i) => { h[i] = (h[i] + x) | 0; });
    },
  };

  const sha1 = {
    start: [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0], big: true, size: 20,
    block(h, w) {
      for (let i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
      let [a, b, c, d, e] = h;
      for (let i = 0; i < 80; i++) {
        const [f, k] = i < 20 ? [(b & c) | (~b & d), 0x5a827999] : i < 40 ? [b ^ c ^ d, 0x6ed9eba1]
          : i < 60 ? [(b & c) | (b & d) | (c & d), 0x8f1bbcdc] : [b ^ c ^ d, 0xca62c1d6];
        const t = (rotate(a, 5) + f + e + k + w[i]) | 0;
        e = d; d = c; c = rotate(b, 30); b = a; a = t;
      }
      [a, b, c, d, e].forEach((x, i) => { h[i] = (h[i] + x) | 0; });
    },
  };

  const sines = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0);
  const turns = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
  const md5 = {
    start: [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476], big: false, size: 16,
    block(h, w) {
      let [a, b, c, d] = h;
      for (let i = 0; i < 64; i++) {
        const round = i >> 4;
        const [f, g] = round === 0 ? [(b & c) | (~b & d), i] : round === 1 ? [(d & b) | (~d & c), (5 * i + 1) & 15]
          : round === 2 ? [b ^ c ^ d, (3 * i + 5) & 15] : [c ^ (b | ~d), (7 * i) & 15];
        const t = (a + f + sines[i] + w[g]) | 0;
        a = d; d = c; c = b; b = (b + rotate(t, turns[round][i & 3])) | 0;
      }
      [a, b, c, d].forEach((x, i) => { h[i] = (h[i] + x) | 0; });
    },
  };

  // ---- 64 bits in two halves: words 2i and 2i + 1 ----
  const mask64 = (1n << 64n) - 1n;
  // the first 64 fractional bits of a root of p
  const rootBits = (p, degree) => {
    const target = BigInt(p) << BigInt(64 * degree);
    let low = 0n, high = BigInt(p) << 64n;
    while (low < high) {
      const middle = (low + high + 1n) >> 1n;
      if (middle ** BigInt(degree) <= target) low = middle;
      else high = middle - 1n;
    }
    return low & mask64;
  };
  const halves = (list) => list.flatMap((n) => [Number(n >> 32n) | 0, Number(n & 0xffffffffn) | 0]);
  const K512 = Int32Array.from(halves(primes.map((p) => rootBits(p, 3))));
  const roots = (from) => halves(primes.slice(from, from + 8).map((p) => rootBits(p, 2)));

  const sha512 = {
    start: roots(0), big: true, size: 64, width: 128,
    block(h, w) {
      for (let i = 32; i < 160; i += 2) {
        const ah = w[i - 30], al = w[i - 29], bh = w[i - 4], bl = w[i - 3];
        const sh = ((ah >>> 1) | (al << 31)) ^ ((ah >>> 8) | (al << 24)) ^ (ah >>> 7);
        const sl = ((al >>> 1) | (ah << 31)) ^ ((al >>> 8) | (ah << 24)) ^ ((al >>> 7) | (ah << 25));
        const th = ((bh >>> 19) | (bl << 13)) ^ ((bl >>> 29) | (bh << 3)) ^ (bh >>> 6);
        const tl = ((bl >>> 19) | (bh << 13)) ^ ((bh >>> 29) | (bl << 3)) ^ ((bl >>> 6) | (bh << 26));
        const low = (sl >>> 0) + (tl >>> 0) + (w[i - 31] >>> 0) + (w[i - 13] >>> 0);
        w[i + 1] = low | 0;
        w[i] = (sh + th + w[i - 32] + w[i - 14] + Math.floor(low / 2 ** 32)) | 0;
      }
      let [ah, al, bh, bl, ch, cl, dh, dl, eh, el, fh, fl, gh, gl, kh, kl] = h;
      for (let i = 0; i < 160; i += 2) {
        const sh = ((eh >>> 14) | (el << 18)) ^ ((eh >>> 18) | (el << 14)) ^ ((el >>> 9) | (eh << 23));
        const sl = ((el >>> 14) | (eh << 18)) ^ ((el >>> 18) | (eh << 14)) ^ ((eh >>> 9) | (el << 23));
        const low = (kl >>> 0) + (sl >>> 0) + (((el & fl) ^ (~el & gl)) >>> 0) + (K512[i + 1] >>> 0) + (w[i + 1] >>> 0);
        const high = (kh + sh + ((eh & fh) ^ (~eh & gh)) + K512[i] + w[i] + Math.floor(low / 2 ** 32)) | 0;
        const th = ((ah >>> 28) | (al << 4)) ^ ((al >>> 2) | (ah << 30)) ^ ((al >>> 7) | (ah << 25));
        const tl = ((al >>> 28) | (ah << 4)) ^ ((ah >>> 2) | (al << 30)) ^ ((ah >>> 7) | (al << 25));
        const sum = (tl >>> 0) + (((al & bl) ^ (al & cl) ^ (bl & cl)) >>> 0);
        const top = (th + ((ah & bh) ^ (ah & ch) ^ (bh & ch)) + Math.floor(sum / 2 ** 32)) | 0;
        kh = gh; kl = gl; gh = fh; gl = fl; fh = eh; fl = el;
        const e = (dl >>> 0) + (low >>> 0);
        eh = (dh + high + Math.floor(e / 2 ** 32)) | 0; el = e | 0;
        dh = ch; dl = cl; ch = bh; cl = bl; bh = ah; bl = al;
        const a = (low >>> 0) + (sum >>> 0);
        ah = (high + top + Math.floor(a / 2 ** 32)) | 0; al = a | 0;
      }
      const now = [ah, al, bh, bl, ch, cl, dh, dl, eh, el, fh, fl, gh, gl, kh, kl];
      for (let i = 0; i < 16; i += 2) {
        const low = (h[i + 1] >>> 0) + (now[i + 1] >>> 0);
        h[i] = (h[i] + now[i] + Math.floor(low / 2 ** 32)) | 0;
        h[i + 1] = low | 0;
      }
    },
  };
  const sha384 = { ...sha512, start: roots(8), size: 48 };
  const sha224 = { ...sha256, start: roots(8).filter((_, i) => i % 2 === 1), size: 28 };

  const algorithms = { sha256, sha512, sha1, sha384, sha224, md5 };
  const find = (name) => {
    const known = algorithms[String(name).toLowerCase().replace('-', '')];
    if (known) return known;
    throw Object.assign($.coded(new Error('Digest method not supported'), 'ERR_CRYPTO_INVALID_DIGEST'), { hint: `use ${Object.keys(algorithms).join(', ')}` });
  };
  const widthOf = (algorithm) => algorithm.width ?? 64;

  const digest = (algorithm, bytes) => {
    const h = Int32Array.from(algorithm.start), width = widthOf(algorithm), w = new Int32Array(width === 128 ? 160 : 80);
    const padded = new Uint8Array((bytes.length + width + width / 8) & -width), view = new DataView(padded.buffer);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const high = Math.floor(bytes.length / 2 ** 29), low = (bytes.length << 3) >>> 0;
    view.setUint32(padded.length - (algorithm.big ? 8 : 4), high, !algorithm.big);
    view.setUint32(padded.length - (algorithm.big ? 4 : 8), low, !algorithm.big);
    for (let at = 0; at < padded.length; at += width) {
      for (let i = 0; i < width / 4; i++) w[i] = view.getInt32(at + i * 4, !algorithm.big);
      algorithm.block(h, w);
    }
    const out = new DataView(new ArrayBuffer(algorithm.size));
    for (let i = 0; i < algorithm.size / 4; i++) out.setInt32(i * 4, h[i], !algorithm.big);
    return new Uint8Array(out.buffer);
  };

  const bytesIn = (data, encoding) => (typeof data === 'string' ? $.bytesIn(data, encoding) : $.bytesOf(data));
  const shown = (bytes, encoding) => (encoding === undefined || encoding === 'buffer' ? $.bufferOf(bytes) : $.textOf(bytes, encoding));
  const joined = (parts) => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  };

  const signature = (algorithm, secret, bytes) => {
    const width = widthOf(algorithm), key = secret.length > width ? digest(algorithm, secret) : secret;
    const pad = (byte) => Uint8Array.from({ length: width }, (_, i) => (key[i] ?? 0) ^ byte);
    return digest(algorithm, joined([pad(0x5c), digest(algorithm, joined([pad(0x36), bytes]))]));
  };
  const stretched = (algorithm, password, salt, rounds, size) => {
    const out = new Uint8Array(size);
    for (let at = 0, block = 1; at < size; at += algorithm.size, block++) {
      let u = signature(algorithm, password, joined([salt, Uint8Array.of(block >>> 24, block >>> 16, block >>> 8, block)]));
      const sum = u.slice();
      for (let i = 1; i < rounds; i++) {
        u = signature(algorithm, password, u);
        for (let j = 0; j < sum.length; j++) sum[j] ^= u[j];
      }
      out.set(sum.subarray(0, size - at), at);
    }
    return out;
  };

  // createHash and createHmac: collect data, then digest it at once
  class Hash {
    #parts; #finish; #done = false;
    constructor(parts, finish) {
      this.#parts = parts;
      this.#finish = finish;
    }
    update(data, encoding) {
      if (this.#done) throw $.coded(new Error('Digest already called'), 'ERR_CRYPTO_HASH_FINALIZED');
      this.#parts.push(bytesIn(data, encoding).slice());
      return this;
    }
    copy() { return new Hash([...this.#parts], this.#finish); }
    digest(encoding) {
      if (this.#done) throw $.coded(new Error('Digest already called'), 'ERR_CRYPTO_HASH_FINALIZED');
      this.#done = true;
      return shown(this.#finish(joined(this.#parts)), encoding);
    }
  }
  $.hashes = {
    createHash(name) {
      const algorithm = find(name);
      return new Hash([], (bytes) => digest(algorithm, bytes));
    },
    createHmac(name, secret) {
      const algorithm = find(name), key = bytesIn(secret);
      return new Hash([], (bytes) => signature(algorithm, key, bytes));
    },
    hash: (name, data, encoding = 'hex') => shown(digest(find(name), bytesIn(data)), encoding),
    pbkdf2Sync: (password, salt, rounds, size, name) => $.bufferOf(stretched(find(name), bytesIn(password), bytesIn(salt), rounds, size)),
    getHashes: () => Object.keys(algorithms),
    timingSafeEqual: (a, b) => a.length === b.length && a.reduce((different, byte, i) => different | (byte ^ b[i]), 0) === 0,
  };

  // ---- crypto.subtle: digests, and signatures with a shared key ----
  const nameOf = (algorithm) => (typeof algorithm === 'object' && algorithm !== null ? algorithm.name : algorithm);
  const keys = new WeakMap();
  const unsupported = (what) => {
    const error = new $.DOMException(`${what} is not supported`, 'NotSupportedError');
    return $.define(error, 'hint', 'use digest, or importKey, sign and verify with HMAC'), error;
  };
  const keyOf = (key) => keys.get(key) ?? (() => { throw unsupported('this key'); })();
  crypto.subtle = {
    async digest(name, data) { return digest(find(nameOf(name)), $.bytesOf(data)).buffer; },
    async importKey(format, data, algorithm, extractable, usages) {
      if (format !== 'raw' || String(nameOf(algorithm)).toUpperCase() !== 'HMAC') throw unsupported(`importKey of ${format} for ${nameOf(algorithm)}`);
      const key = { type: 'secret', extractable: Boolean(extractable), algorithm: { name: 'HMAC', hash: { name: nameOf(algorithm.hash) } }, usages: [...usages] };
      keys.set(key, [find(nameOf(algorithm.hash)), $.bytesOf(data).slice()]);
      return key;
    },
    async sign(name, key, data) { return signature(...keyOf(key), $.bytesOf(data)).buffer; },
    async verify(name, key, given, data) {
      const real = signature(...keyOf(key), $.bytesOf(data)), told = $.bytesOf(given);
      return $.hashes.timingSafeEqual(real, told);
    },
  };
  for (const name of ['encrypt', 'decrypt', 'generateKey', 'deriveKey', 'deriveBits', 'exportKey', 'wrapKey', 'unwrapKey']) {
    crypto.subtle[name] = { async [name]() { throw unsupported(`crypto.subtle.${name}`); } }[name];
  }
};
