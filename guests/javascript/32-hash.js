// Digests: what programs make keys, signatures and checksums of.
($) => {
  const rotate = (x, n) => (x << n) | (x >>> (32 - n));
  const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);

  const K256 = primes.map((p) => fraction(Math.cbrt(p)));
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

  const algorithms = { sha256, sha1, md5 };
  const find = (name) => {
    const known = algorithms[String(name).toLowerCase().replace('-', '')];
    if (known) return known;
    throw Object.assign($.coded(new Error('Digest method not supported'), 'ERR_CRYPTO_INVALID_DIGEST'), { hint: 'sha256, sha1 and md5 are here' });
  };

  const digest = (algorithm, bytes) => {
    const h = Int32Array.from(algorithm.start), w = new Int32Array(80);
    const padded = new Uint8Array((bytes.length + 72) & ~63), view = new DataView(padded.buffer);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const high = Math.floor(bytes.length / 2 ** 29), low = (bytes.length << 3) >>> 0;
    view.setUint32(padded.length - (algorithm.big ? 8 : 4), high, !algorithm.big);
    view.setUint32(padded.length - (algorithm.big ? 4 : 8), low, !algorithm.big);
    for (let at = 0; at < padded.length; at += 64) {
      for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + i * 4, !algorithm.big);
      algorithm.block(h, w);
    }
    const out = new DataView(new ArrayBuffer(algorithm.size));
    for (let i = 0; i < algorithm.size / 4; i++) out.setInt32(i * 4, h[i], !algorithm.big);
    return new Uint8Array(out.buffer);
  };

  const bytesIn = (data, encoding) => {
    if (typeof data !== 'string') return $.bytesOf(data);
    if (encoding === 'hex') return Uint8Array.from(data.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    return encoding === 'base64' ? $.fromBase64(data) : new TextEncoder().encode(data);
  };
  const shown = (bytes, encoding) => {
    if (encoding === 'hex') return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
    if (encoding === 'base64') return $.toBase64(bytes);
    if (encoding === 'base64url') return $.toBase64(bytes).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
    return bytes;
  };
  const joined = (parts) => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  };

  // createHash and createHmac: what is added, and a digest of all of it
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
      const algorithm = find(name);
      let key = bytesIn(secret);
      if (key.length > 64) key = digest(algorithm, key);
      const pad = (byte) => Uint8Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ byte);
      return new Hash([pad(0x36)], (bytes) => digest(algorithm, joined([pad(0x5c), digest(algorithm, bytes)])));
    },
    getHashes: () => Object.keys(algorithms),
    timingSafeEqual: (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]),
  };
  crypto.subtle = {
    async digest(name, data) { return digest(find(typeof name === 'object' ? name.name : name), $.bytesOf(data)).buffer; },
  };
};
