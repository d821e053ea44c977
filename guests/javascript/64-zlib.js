// node:zlib: gzip, zlib and raw deflate, without streams.
($) => {
  const bad = (text, code, errno) => Object.assign(new Error(text), { code, errno });
  const damaged = (text) => bad(text, 'Z_DATA_ERROR', -3);

  // ---- Huffman codes ----
  // Reads a list of code lengths: the number of codes of each length,
  // and the symbols in the order of their codes.
  const codesOf = (lengths) => {
    const counts = new Uint16Array(16), at = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
    for (const length of lengths) counts[length]++;
    counts[0] = 0;
    for (let i = 1; i < 16; i++) at[i] = at[i - 1] + counts[i - 1];
    lengths.forEach((length, symbol) => { if (length > 0) symbols[at[length]++] = symbol; });
    return { counts, symbols };
  };
  const fixedLengths = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
  const fixed = [codesOf(fixedLengths), codesOf(new Array(30).fill(5))];
  const lengthBase = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const distanceBase = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
  const distanceBits = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

  // [the bytes that were packed, where the stream ends]
  const inflate = (input, at) => {
    let out = new Uint8Array(Math.max(1024, input.length * 4)), size = 0, held = 0, bits = 0;
    const take = (n) => {
      while (bits < n) {
        if (at >= input.length) throw bad('unexpected end of file', 'Z_BUF_ERROR', -5);
        held |= input[at++] << bits;
        bits += 8;
      }
      const value = held & ((1 << n) - 1);
      held >>>= n;
      bits -= n;
      return value;
    };
    const symbol = ({ counts, symbols }) => {
      let code = 0, first = 0, index = 0;
      for (let length = 1; length < 16; length++) {
        code |= take(1);
        if (code - counts[length] < first) return symbols[index + code - first];
        index += counts[length];
        first = (first + counts[length]) << 1;
        code <<= 1;
      }
      throw damaged('invalid code lengths set');
    };
    const room = (more) => {
      if (size + more <= out.length) return;
      const larger = new Uint8Array(Math.max(out.length * 2, size + more));
      larger.set(out.subarray(0, size));
      out = larger;
    };
    const tables = () => {
      const literals = take(5) + 257, distances = take(5) + 1, count = take(4) + 4, lengths = new Array(19).fill(0);
      for (let i = 0; i < count; i++) lengths[order[i]] = take(3);
      const codes = codesOf(lengths), all = [];
      while (all.length < literals + distances) {
        const next = symbol(codes);
        if (next < 16) all.push(next);
        else {
          const [value, times] = next === 16 ? [all[all.length - 1], 3 + take(2)] : next === 17 ? [0, 3 + take(3)] : [0, 11 + take(7)];
          if (value === undefined || all.length + times > literals + distances) throw damaged('invalid bit length repeat');
          for (let i = 0; i < times; i++) all.push(value);
        }
      }
      return [codesOf(all.slice(0, literals)), codesOf(all.slice(literals))];
    };
    for (let last = false; !last;) {
      last = take(1) === 1;
      const kind = take(2);
      if (kind === 3) throw damaged('invalid block type');
      if (kind === 0) {
        held = bits = 0;
        if (at + 4 > input.length) throw bad('unexpected end of file', 'Z_BUF_ERROR', -5);
        const length = input[at] | (input[at + 1] << 8);
        if ((length ^ 0xffff) !== (input[at + 2] | (input[at + 3] << 8))) throw damaged('invalid stored block lengths');
        at += 4;
        if (at + length > input.length) throw bad('unexpected end of file', 'Z_BUF_ERROR', -5);
        room(length);
        out.set(input.subarray(at, at + length), size);
        at += length;
        size += length;
        continue;
      }
      const [literals, distances] = kind === 1 ? fixed : tables();
      for (;;) {
        const next = symbol(literals);
        if (next === 256) break;
        room(258);
        if (next < 256) {
          out[size++] = next;
          continue;
        }
        if (next > 285) throw damaged('invalid literal/length code');
        const length = lengthBase[next - 257] + take(lengthBits[next - 257]), far = symbol(distances);
        if (far > 29) throw damaged('invalid distance code');
        const distance = distanceBase[far] + take(distanceBits[far]);
        if (distance > size) throw damaged('invalid distance too far back');
        for (let i = 0; i < length; i++, size++) out[size] = out[size - distance];
      }
    }
    return [out.slice(0, size), at];
  };

  // One block with the fixed codes; repetitions are found by the hash of three bytes.
  const turned = (code, length) => { let n = 0; for (let i = 0; i < length; i++) n |= ((code >> i) & 1) << (length - 1 - i); return n; };
  const fixedCodes = fixedLengths.map((length, i) => turned(i < 144 ? 0x30 + i : i < 256 ? 0x190 + i - 144 : i < 280 ? i - 256 : 0xc0 + i - 280, length));
  const findLast = (list, value) => { let i = list.length - 1; while (list[i] > value) i--; return i; };
  const deflate = (input, level) => {
    const out = [];
    let held = 0, bits = 0;
    const put = (value, n) => {
      held |= value << bits;
      bits += n;
      while (bits >= 8) {
        out.push(held & 255);
        held >>>= 8;
        bits -= 8;
      }
    };
    const literal = (n) => put(fixedCodes[n], fixedLengths[n]);
    const before = new Int32Array(32768).fill(-1), heads = new Int32Array(65536).fill(-1);
    const hash = (i) => ((input[i] << 10) ^ (input[i + 1] << 5) ^ input[i + 2]) & 65535;
    const note = (i) => {
      if (i + 2 >= input.length) return;
      before[i & 32767] = heads[hash(i)];
      heads[hash(i)] = i;
    };
    put(1, 1);
    put(1, 2);
    for (let i = 0; i < input.length;) {
      let best = 0, from = 0;
      if (i + 2 < input.length && level !== 0) {
        for (let j = heads[hash(i)], tries = 32; j >= 0 && i - j <= 32768 && tries > 0; j = before[j & 32767], tries--) {
          let n = 0;
          while (n < 258 && i + n < input.length && input[j + n] === input[i + n]) n++;
          if (n > best) [best, from] = [n, j];
          if (before[j & 32767] >= j) break;
        }
      }
      if (best < 3) {
        literal(input[i]);
        note(i++);
        continue;
      }
      const l = findLast(lengthBase, best), d = findLast(distanceBase, i - from);
      literal(257 + l);
      put(best - lengthBase[l], lengthBits[l]);
      put(turned(d, 5), 5);
      put(i - from - distanceBase[d], distanceBits[d]);
      for (let n = 0; n < best; n++) note(i++);
    }
    literal(256);
    if (bits > 0) out.push(held & 255);
    return Uint8Array.from(out);
  };

  // ---- containers ----
  const table = Int32Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1; return n; });
  const crc32 = (bytes, start = 0) => { let c = ~start; for (const b of bytes) c = table[(c ^ b) & 255] ^ (c >>> 8); return ~c >>> 0; };
  const adler32 = (bytes) => { let a = 1, b = 0; for (const x of bytes) { a = (a + x) % 65521; b = (b + a) % 65521; } return ((b << 16) | a) >>> 0; };
  const number = (n, little) => {
    const bytes = [n & 255, (n >>> 8) & 255, (n >>> 16) & 255, n >>> 24];
    return little ? bytes : bytes.reverse();
  };

  const behindGzipHead = (b) => {
    if (b.length < 18) throw b[0] === 31 && b[1] === 139 ? bad('unexpected end of file', 'Z_BUF_ERROR', -5) : damaged('incorrect header check');
    if (b[0] !== 31 || b[1] !== 139 || b[2] !== 8) throw damaged('incorrect header check');
    let at = 10;
    if (b[3] & 4) at += 2 + b[at] + (b[at + 1] << 8);
    for (const flag of [8, 16]) if (b[3] & flag) at = b.indexOf(0, at) + 1;
    return at + (b[3] & 2 ? 2 : 0);
  };
  const gunzip = (bytes) => {
    const parts = [];
    for (let rest = bytes; rest.length > 0;) {
      const [part, end] = inflate(rest, behindGzipHead(rest)), view = new DataView(rest.buffer, rest.byteOffset);
      if (end + 8 > rest.length) throw bad('unexpected end of file', 'Z_BUF_ERROR', -5);
      if (view.getUint32(end, true) !== crc32(part)) throw damaged('incorrect data check');
      parts.push(part);
      rest = rest.subarray(end + 8);
      if (rest[0] !== 31) break; // padding behind the last member
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  };
  const unzlib = (bytes) => {
    if (bytes.length < 2 || (bytes[0] & 15) !== 8 || ((bytes[0] << 8) | bytes[1]) % 31 !== 0) throw damaged('incorrect header check');
    const [part, end] = inflate(bytes, 2);
    if (new DataView(bytes.buffer, bytes.byteOffset).getUint32(end) !== adler32(part)) throw damaged('incorrect data check');
    return part;
  };
  const ways = {
    gzip: (bytes, { level }) => Buffer.concat([[31, 139, 8, 0, 0, 0, 0, 0, 0, 3], deflate(bytes, level), number(crc32(bytes), true), number(bytes.length, true)]),
    deflate: (bytes, { level }) => Buffer.concat([[0x78, 0x9c], deflate(bytes, level), number(adler32(bytes), false)]),
    deflateRaw: (bytes, { level }) => deflate(bytes, level),
    gunzip, inflate: unzlib, inflateRaw: (bytes) => inflate(bytes, 0)[0],
    unzip: (bytes) => (bytes[0] === 31 ? gunzip(bytes) : unzlib(bytes)),
  };
  const zlib = { crc32: (data, start) => crc32(typeof data === 'string' ? $.bytesIn(data) : data, start),
    constants: { Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1 } };
  for (const name of Object.keys(ways)) {
    const now = (data, options) => {
      const done = ways[name](typeof data === 'string' ? $.bytesIn(data) : $.bytesOf(data), options ?? {});
      return $.bufferOf(done);
    };
    zlib[`${name}Sync`] = now;
    zlib[name] = (data, options, callback = options) => {
      if (typeof callback !== 'function') throw $.coded(new TypeError('The "callback" argument must be of type function'), 'ERR_INVALID_ARG_TYPE');
      (async () => now(data, typeof options === 'function' ? undefined : options))().then((value) => callback(null, value), callback);
    };
  }
  for (const name of ['brotliCompress', 'brotliDecompress', 'brotliCompressSync', 'brotliDecompressSync']) {
    zlib[name] = () => {
      const error = new Error(`zlib.${name} is not available`);
      $.define(error, 'hint', 'gzip and deflate are');
      throw error;
    };
  }
  $.streamsOf(zlib);
  $.node.zlib = () => zlib;
};
