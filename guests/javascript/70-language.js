// Parts of the language that the interpreter does not have yet, as ECMAScript
// defines them.
($) => {
  const add = (target, methods) => {
    for (const name of Reflect.ownKeys(methods)) {
      if (!Object.hasOwn(target, name)) Object.defineProperty(target, name, { ...Object.getOwnPropertyDescriptor(methods, name), enumerable: false });
    }
  };
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const needsObject = (value) => {
    if (!isObject(value)) throw new TypeError(`${$.inspect(value)} is not an object`);
  };
  const needsFunction = (value) => {
    if (typeof value !== 'function') throw new TypeError(`${$.inspect(value)} is not a function`);
  };
  const { apply } = Reflect;

  add(Error, {
    captureStackTrace(target) { $.stack(target); },
    stackTraceLimit: 10,
    isError(value) { return $.kind(value) === 'Error'; },
  });
  add(Promise, {
    try(fn, ...list) { return new this((resolve) => { resolve(fn(...list)); }); },
  });

  const isConstructor = (value) => {
    try {
      return typeof value === 'function' && Boolean(Reflect.construct(Object, [], value));
    } catch {
      return false;
    }
  };
  const put = (list, i, value) => Object.defineProperty(list, i, { value, writable: true, enumerable: true, configurable: true });
  const { asyncIterator, iterator } = Symbol;
  async function fromAsync(items, fn, self) {
    if (fn !== undefined) needsFunction(fn);
    let i = 0, symbol = asyncIterator, method = items[asyncIterator] ?? undefined;
    if (method === undefined) {
      symbol = iterator;
      method = items[iterator] ?? undefined;
    }
    if (method !== undefined) {
      needsFunction(method);
      const list = isConstructor(this) ? new this() : [];
      for await (const item of { [symbol]: () => apply(method, items, []) }) {
        put(list, i, fn ? await apply(fn, self, [item, i]) : item);
        i++;
      }
      list.length = i;
      return list;
    }
    const source = Object(items), length = Math.min(Math.max(Math.trunc(+source.length) || 0, 0), Number.MAX_SAFE_INTEGER);
    const list = isConstructor(this) ? new this(length) : new Array(length);
    for (; i < length; i++) {
      const item = await source[i];
      put(list, i, fn ? await apply(fn, self, [item, i]) : item);
    }
    list.length = length;
    return list;
  }
  add(Array, {
    fromAsync(items, fn = undefined, self = undefined) { return apply(fromAsync, this, [items, fn, self]); },
  });
  add(Math, {
    // the exact sum, rounded once: partial sums that do not overlap
    sumPrecise(items) {
      const parts = [], list = [];
      let special = -0;
      for (const item of items) {
        if (typeof item !== 'number') throw new TypeError('Math.sumPrecise takes numbers');
        list.push(item);
      }
      for (const item of list) {
        if (!Number.isFinite(item) || parts.length === 0) special += item;
        if (!Number.isFinite(item)) continue;
        let x = item, kept = 0;
        for (const part of parts) {
          const [large, small] = Math.abs(x) < Math.abs(part) ? [part, x] : [x, part], sum = large + small, rest = small - (sum - large);
          if (rest !== 0) parts[kept++] = rest;
          x = sum;
        }
        parts.splice(kept, parts.length, x);
      }
      if (!Number.isFinite(special) || parts.length === 0) return special;
      // a partial sum overflowed, but the total may not
      if (!parts.every(Number.isFinite)) return Math.sumPrecise(list.map((item) => item * 2 ** -64)) * 2 ** 64;
      let at = parts.length - 1, sum = parts[at], rest = 0;
      while (at > 0) {
        const before = sum, part = parts[--at];
        sum = before + part;
        rest = part - (sum - before);
        if (rest !== 0) break;
      }
      // a tie: the lower partial sums decide
      if (at > 0 && Math.sign(rest) === Math.sign(parts[at - 1])) {
        const twice = rest * 2, up = sum + twice;
        if (twice === up - sum) return up;
      }
      return sum;
    },
  });

  // ---- RegExp.escape ----
  const controls = { '\t': '\\t', '\n': '\\n', '\v': '\\v', '\f': '\\f', '\r': '\\r' };
  const units = (text) => Array.from({ length: text.length }, (_, i) => {
    const unit = text.charCodeAt(i);
    return unit < 256 ? `\\x${unit.toString(16).padStart(2, '0')}` : `\\u${unit.toString(16).padStart(4, '0')}`;
  }).join('');
  const escaped = (c) => {
    if (/[\^$\\.*+?()[\]{}|/]/.test(c)) return `\\${c}`;
    return controls[c] ?? (/[,\-=<>#&!%:;@~'`"\s\p{Cs}]/u.test(c) ? units(c) : c);
  };
  add(RegExp, {
    escape(text) {
      if (typeof text !== 'string') throw new TypeError('RegExp.escape takes a string');
      return Array.from(text, (c, i) => (i === 0 && /[0-9a-zA-Z]/.test(c) ? units(c) : escaped(c))).join('');
    },
  });

  // ---- bytes as hexadecimal and base64 text ----
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const optionOf = (options, name, known) => {
    const value = options[name];
    if (value === undefined) return known[0];
    if (!known.includes(value)) throw new TypeError(`the option ${name} must be one of ${known.join(', ')}`);
    return value;
  };
  const optionsOf = (options) => {
    if (options === undefined) return {};
    needsObject(options);
    return options;
  };
  const reading = (options) => {
    const o = optionsOf(options);
    return [optionOf(o, 'alphabet', ['base64', 'base64url']) === 'base64url', optionOf(o, 'lastChunkHandling', ['loose', 'strict', 'stop-before-partial'])];
  };
  const needsText = (text) => {
    if (typeof text !== 'string') throw new TypeError('expected a string');
  };
  const needsBytes = (value) => {
    if ($.kind(value) !== 'Uint8Array') throw new TypeError('expected a Uint8Array');
    return value;
  };
  const needsAttached = (value) => {
    if ($.detached(value.buffer)) throw new TypeError('the buffer is detached');
  };
  // {bytes, read, error}: what was read of the text before it ended, filled the
  // room or broke
  const read64 = (text, url, handling, room = Infinity) => {
    const bytes = [];
    let read = 0, chunk = 0, count = 0, at = 0;
    if (room === 0) return { bytes, read };
    const invalid = () => ({ bytes, read, error: new SyntaxError('the string is not valid base64') });
    const skip = () => { while (at < text.length && ' \t\n\f\r'.includes(text[at])) at++; };
    const flush = () => {
      for (let i = 1; i < count; i++) bytes.push((chunk >> (6 * count - 8 * i)) & 255);
    };
    for (;;) {
      skip();
      if (at === text.length) {
        if (count > 0) {
          if (handling === 'stop-before-partial') return { bytes, read };
          if (handling === 'strict' || count === 1) return invalid();
          flush();
        }
        return { bytes, read: text.length };
      }
      const c = text[at++];
      if (c === '=') {
        if (count < 2) return invalid();
        skip();
        if (count === 2) {
          if (at === text.length) return handling === 'stop-before-partial' ? { bytes, read } : invalid();
          if (text[at] === '=') {
            at++;
            skip();
          }
        }
        if (at < text.length || (handling === 'strict' && (chunk & (count === 2 ? 15 : 3)) !== 0)) return invalid();
        flush();
        return { bytes, read: text.length };
      }
      const value = url ? '+/'.includes(c) ? -1 : alphabet.indexOf(c === '-' ? '+' : c === '_' ? '/' : c) : alphabet.indexOf(c);
      if (value < 0) return invalid();
      const left = room - bytes.length;
      if ((left === 1 && count === 2) || (left === 2 && count === 3)) return { bytes, read };
      chunk = (chunk << 6) | value;
      if (++count < 4) continue;
      flush();
      chunk = count = 0;
      read = at;
      if (bytes.length === room) return { bytes, read };
    }
  };
  const readHex = (text, room = Infinity) => {
    const bytes = [];
    let read = 0;
    const invalid = () => ({ bytes, read, error: new SyntaxError('the string is not valid hex') });
    if (text.length % 2 === 1) return invalid();
    while (read < text.length && bytes.length < room) {
      const pair = text.slice(read, read + 2);
      if (!/^[0-9a-fA-F]{2}$/.test(pair)) return invalid();
      bytes.push(parseInt(pair, 16));
      read += 2;
    }
    return { bytes, read };
  };
  const whole = ({ bytes, error }) => {
    if (error) throw error;
    return new Uint8Array(bytes);
  };
  const fill = (target, { bytes, read, error }) => {
    target.set(bytes);
    if (error) throw error;
    return { read, written: bytes.length };
  };
  add(Uint8Array, {
    fromHex(text) {
      needsText(text);
      return whole(readHex(text));
    },
    fromBase64(text, options = undefined) {
      needsText(text);
      return whole(read64(text, ...reading(options)));
    },
  });
  add(Uint8Array.prototype, {
    setFromHex(text) {
      needsBytes(this);
      needsText(text);
      needsAttached(this);
      return fill(this, readHex(text, this.length));
    },
    setFromBase64(text, options = undefined) {
      needsBytes(this);
      needsText(text);
      const how = reading(options);
      needsAttached(this);
      return fill(this, read64(text, ...how, this.length));
    },
    toHex() {
      needsAttached(needsBytes(this));
      return $.textOf(this, 'hex');
    },
    toBase64(options = undefined) {
      needsBytes(this);
      const o = optionsOf(options), url = optionOf(o, 'alphabet', ['base64', 'base64url']) === 'base64url', bare = Boolean(o.omitPadding);
      needsAttached(this);
      const text = $.textOf(this, 'base64'), plain = bare ? text.replace(/=+$/, '') : text;
      return url ? plain.replace(/\+/g, '-').replace(/\//g, '_') : plain;
    },
  });

  // ---- buffers that move ----
  const isBuffer = (value) => {
    if ($.kind(value) !== 'ArrayBuffer') throw new TypeError('expected an ArrayBuffer');
  };
  const moved = (buffer, length) => {
    isBuffer(buffer);
    const size = length === undefined ? buffer.byteLength : Math.trunc(Number(length)) || 0;
    if (!(size >= 0 && size <= Number.MAX_SAFE_INTEGER)) throw new RangeError('invalid length of an array buffer');
    if ($.detached(buffer)) throw new TypeError('the buffer is detached');
    const result = new ArrayBuffer(size), from = new Uint8Array(buffer, 0, Math.min(size, buffer.byteLength));
    new Uint8Array(result).set(from);
    $.detach(buffer);
    return result;
  };
  add(ArrayBuffer.prototype, {
    transfer(length = undefined) { return moved(this, length); },
    transferToFixedLength(length = undefined) { return moved(this, length); },
    get detached() {
      isBuffer(this);
      return $.detached(this);
    },
  });

  // ---- sets ----
  const { has, values, add: insert, delete: remove } = Set.prototype, sizeOf = Object.getOwnPropertyDescriptor(Set.prototype, 'size').get;
  // a set-like argument: its size, and its methods as they were when it was looked up
  const recordOf = (other) => {
    needsObject(other);
    const number = +other.size; // a BigInt is a TypeError
    if (Number.isNaN(number)) throw new TypeError('the size of a set must be a number');
    const size = Math.trunc(number);
    if (size < 0) throw new RangeError('the size of a set must not be negative');
    const { has: contains, keys } = other;
    needsFunction(contains);
    needsFunction(keys);
    return {
      size,
      has: (item) => Boolean(apply(contains, other, [item])),
      keys() {
        const iterator = apply(keys, other, []);
        needsObject(iterator);
        return direct(iterator);
      },
    };
  };
  // the record of other, and the size of the set after it was made
  const both = (set, other) => {
    apply(sizeOf, set, []); // throws unless it is a set
    return [recordOf(other), apply(sizeOf, set, [])];
  };
  const itemsOf = (set) => ({ [Symbol.iterator]: () => apply(values, set, []) });
  // a set of the items, whatever a program made of Set.prototype.add
  const setOf = (items) => {
    const result = new Set();
    for (const item of items) apply(insert, result, [item]);
    return result;
  };
  add(Set.prototype, {
    union(other) {
      const [record] = both(this, other), more = record.keys(), result = setOf(itemsOf(this));
      for (const item of more) apply(insert, result, [item]);
      return result;
    },
    intersection(other) {
      const [record, size] = both(this, other), result = new Set();
      if (size <= record.size) {
        for (const item of itemsOf(this)) if (record.has(item)) apply(insert, result, [item]);
      } else {
        for (const item of record.keys()) if (apply(has, this, [item])) apply(insert, result, [item]);
      }
      return result;
    },
    difference(other) {
      const [record, size] = both(this, other), result = setOf(itemsOf(this));
      if (size <= record.size) {
        for (const item of itemsOf(this)) if (record.has(item)) apply(remove, result, [item]);
      } else {
        for (const item of record.keys()) apply(remove, result, [item]);
      }
      return result;
    },
    symmetricDifference(other) {
      const [record] = both(this, other), more = record.keys(), result = setOf(itemsOf(this));
      for (const item of more) apply(apply(has, this, [item]) ? remove : insert, result, [item]);
      return result;
    },
    isSubsetOf(other) {
      const [record, size] = both(this, other);
      if (size > record.size) return false;
      for (const item of itemsOf(this)) if (!record.has(item)) return false;
      return true;
    },
    isSupersetOf(other) {
      const [record, size] = both(this, other);
      if (size < record.size) return false;
      for (const item of record.keys()) if (!apply(has, this, [item])) return false;
      return true;
    },
    isDisjointFrom(other) {
      const [record, size] = both(this, other);
      if (size <= record.size) {
        for (const item of itemsOf(this)) if (record.has(item)) return false;
      } else {
        for (const item of record.keys()) if (apply(has, this, [item])) return false;
      }
      return true;
    },
  });

  // ---- iterators ----
  const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  // The iterator for a loop: its `next` is read once, and a loop that ends early
  // closes it.
  const direct = (iterator) => {
    const { next } = iterator;
    return {
      [Symbol.iterator]() { return this; },
      next: () => apply(next, iterator, []),
      get return() {
        const close = iterator.return;
        return close === undefined || close === null ? undefined : () => apply(close, iterator, []);
      },
    };
  };
  const close = (items) => {
    const end = items.return;
    if (end) needsObject(end());
  };
  // Closes the iterator and throws what check throws, if anything.
  const checked = (iterator, check) => {
    needsObject(iterator);
    try {
      return check();
    } catch (error) {
      try {
        iterator.return?.();
      } catch {} // the first error counts
      throw error;
    }
  };
  const withFunction = (iterator, fn) => {
    checked(iterator, () => needsFunction(fn));
    return direct(iterator);
  };
  const countOf = (n) => {
    const number = Number(n);
    if (Number.isNaN(number) || Math.trunc(number) < 0) throw new RangeError(`${$.inspect(n)} must be positive`);
    return Math.trunc(number);
  };
  // an iterator over a value that is iterable or an iterator itself
  const flattened = (value) => {
    if (typeof value !== 'string') needsObject(value);
    const method = value[Symbol.iterator];
    const iterator = method === undefined || method === null ? value : apply(method, value, []);
    needsObject(iterator);
    return iterator;
  };

  class Helper {
    #body; #items; #begun = false;
    constructor(body, items) {
      this.#body = body;
      this.#items = items;
    }
    static next(self) {
      self.#begun = true;
      return self.#body.next();
    }
    static return(self) {
      if (!self.#begun) {
        self.#begun = true;
        self.#body.return();
        close(self.#items);
      }
      return self.#body.return();
    }
  }
  const helperPrototype = Object.create(iteratorPrototype);
  add(helperPrototype, {
    next() { return Helper.next(this); },
    return() { return Helper.return(this); },
  });
  Object.defineProperty(helperPrototype, Symbol.toStringTag, { value: 'Iterator Helper', configurable: true });
  const helper = (items, body) => Object.setPrototypeOf(new Helper(body, items), helperPrototype);

  const bodies = {
    * map(items, fn) { let i = 0; for (const item of items) yield fn(item, i++); },
    * filter(items, fn) { let i = 0; for (const item of items) if (fn(item, i++)) yield item; },
    * take(items, count) {
      for (let left = count; left > 0; left--) {
        const step = items.next();
        needsObject(step);
        if (step.done) return;
        const { value } = step;
        let resumed = false;
        try {
          yield value;
          resumed = true;
        } finally {
          if (!resumed) close(items);
        }
      }
      close(items);
    },
    * drop(items, count) { let left = count; for (const item of items) if (left > 0) left--; else yield item; },
    * flatMap(items, fn) {
      let i = 0;
      for (const item of items) {
        const list = fn(item, i++);
        needsObject(list);
        for (const inner of direct(flattened(list))) yield inner;
      }
    },
  };
  add(iteratorPrototype, {
    map(fn) { const items = withFunction(this, fn); return helper(items, bodies.map(items, fn)); },
    filter(fn) { const items = withFunction(this, fn); return helper(items, bodies.filter(items, fn)); },
    take(n) { const count = checked(this, () => countOf(n)), items = direct(this); return helper(items, bodies.take(items, count)); },
    drop(n) { const count = checked(this, () => countOf(n)), items = direct(this); return helper(items, bodies.drop(items, count)); },
    flatMap(fn) { const items = withFunction(this, fn); return helper(items, bodies.flatMap(items, fn)); },
    reduce(fn, ...start) {
      let result = start[0], first = start.length === 0, i = 0;
      for (const item of withFunction(this, fn)) {
        result = first ? item : fn(result, item, i);
        first = false;
        i++;
      }
      if (first) throw new TypeError('Reduce of a done iterator with no initial value');
      return result;
    },
    toArray() { needsObject(this); return [...direct(this)]; },
    forEach(fn) { let i = 0; for (const item of withFunction(this, fn)) fn(item, i++); },
    some(fn) { let i = 0; for (const item of withFunction(this, fn)) if (fn(item, i++)) return true; return false; },
    every(fn) { let i = 0; for (const item of withFunction(this, fn)) if (!fn(item, i++)) return false; return true; },
    find(fn) { let i = 0; for (const item of withFunction(this, fn)) if (fn(item, i++)) return item; return undefined; },
  });
  if (typeof globalThis.Iterator === 'undefined') {
    function Iterator() { if (!new.target || new.target === Iterator) throw new TypeError('Abstract class Iterator not directly constructable'); }
    Object.defineProperty(Iterator, 'prototype', { value: iteratorPrototype, writable: false });
    // accessors, so that a class that inherits can have properties of these names
    const inherited = (key, value) => Object.defineProperty(iteratorPrototype, key, {
      configurable: true,
      get: () => value,
      set(own) {
        needsObject(this);
        if (this === iteratorPrototype) throw new TypeError(`the property ${String(key)} cannot be changed`);
        if (Object.hasOwn(this, key)) this[key] = own;
        else put(this, key, own);
      },
    });
    inherited('constructor', Iterator);
    inherited(Symbol.toStringTag, 'Iterator');

    const wrapped = new WeakMap(), wrapPrototype = Object.create(iteratorPrototype);
    const innerOf = (wrap) => {
      if (!wrapped.has(wrap)) throw new TypeError('not an iterator of Iterator.from');
      return wrapped.get(wrap);
    };
    add(wrapPrototype, {
      next() { return innerOf(this).items.next(); },
      return() {
        const end = innerOf(this).items.return;
        return end ? end() : { value: undefined, done: true };
      },
    });
    add(Iterator, {
      from(items) {
        const iterator = flattened(items), inner = direct(iterator);
        if (iteratorPrototype.isPrototypeOf(iterator)) return iterator;
        const wrap = Object.create(wrapPrototype);
        wrapped.set(wrap, { items: inner });
        return wrap;
      },
    });
    $.expose('Iterator', Iterator);
  }

  // Symbols that esbuild's output for `using` and decorators needs.
  for (const name of ['dispose', 'asyncDispose', 'metadata']) {
    if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
  }
  if (!('SuppressedError' in globalThis)) {
    class SuppressedError extends Error {
      constructor(error, suppressed, message) {
        super(message);
        $.define(this, 'error', error);
        $.define(this, 'suppressed', suppressed);
      }
    }
    $.define(SuppressedError.prototype, 'name', 'SuppressedError');
    $.expose('SuppressedError', SuppressedError);
  }
  if (!('global' in globalThis)) $.expose('global', globalThis);
};
