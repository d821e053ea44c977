// Parts of the language that the interpreter does not have yet.
($) => {
  const add = (target, methods) => {
    for (const name of Reflect.ownKeys(methods)) if (!Object.hasOwn(target, name)) $.define(target, name, methods[name]);
  };

  add(Error, {
    captureStackTrace(target) { $.stack(target); },
    stackTraceLimit: 10,
    isError: (value) => $.kind(value) === 'Error',
  });
  add(Promise, {
    try(fn, ...list) { return new this((resolve) => { resolve(fn(...list)); }); },
  });
  add(Array, {
    async fromAsync(items, fn, self) {
      const list = [];
      let i = 0;
      if (items[Symbol.asyncIterator] || items[Symbol.iterator]) {
        for await (const item of items) list.push(fn ? await fn.call(self, item, i++) : item);
      } else {
        for (; i < items.length; i++) list.push(fn ? await fn.call(self, await items[i], i) : await items[i]);
      }
      return list;
    },
  });
  add(Math, {
    // the exact sum, rounded once: partial sums that do not overlap
    sumPrecise(items) {
      const parts = [], list = [...items];
      let special = -0;
      for (const item of list) {
        if (typeof item !== 'number') throw new TypeError('Math.sumPrecise takes numbers');
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
      if (!parts.every(Number.isFinite)) return Math.sumPrecise(Array.from(list, (item) => item * 2 ** -64)) * 2 ** 64;
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
  add(RegExp, {
    escape(text) {
      return String(text).replace(/[\^$\\.*+?()[\]{}|/]/g, '\\$&').replace(/^[0-9a-zA-Z]/, (c) => `\\x${c.charCodeAt(0).toString(16)}`)
        .replace(/[,\-=<>#&!%:;@~'`"]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`).replace(/\s/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
    },
  });

  const read = (text, encoding, pattern) => {
    if (typeof text !== 'string') throw new TypeError('expected a string');
    if (!pattern.test(text)) throw new SyntaxError(`the string is not valid ${encoding}`);
    return new Uint8Array($.bytesIn(text, encoding));
  };
  add(Uint8Array, {
    fromHex: (text) => read(text, 'hex', /^(?:[0-9a-f]{2})*$/i),
    fromBase64: (text, options) => read(text, 'base64', options?.alphabet === 'base64url' ? /^[\w\s-]*=*\s*$/ : /^[A-Za-z0-9+/\s]*=*\s*$/),
  });
  add(Uint8Array.prototype, {
    toHex() { return $.textOf(this, 'hex'); },
    toBase64(options) {
      const text = $.textOf(this, 'base64'), plain = options?.omitPadding ? text.replace(/=+$/, '') : text;
      return options?.alphabet === 'base64url' ? plain.replace(/\+/g, '-').replace(/\//g, '_') : plain;
    },
  });

  const keysOf = (other) => {
    if (typeof other !== 'object' || other === null || typeof other.has !== 'function') throw new TypeError('expected a Set-like object');
    return [...(other.keys ? { [Symbol.iterator]: () => other.keys() } : other)];
  };
  add(Set.prototype, {
    union(other) { return new Set([...this, ...keysOf(other)]); },
    intersection(other) { return new Set([...this].filter((item) => other.has(item))); },
    difference(other) { return new Set([...this].filter((item) => !other.has(item))); },
    symmetricDifference(other) {
      const result = new Set(this);
      for (const item of keysOf(other)) if (this.has(item)) result.delete(item); else result.add(item);
      return result;
    },
    isSubsetOf(other) { return [...this].every((item) => other.has(item)); },
    isSupersetOf(other) { return keysOf(other).every((item) => this.has(item)); },
    isDisjointFrom(other) { return ![...this].some((item) => other.has(item)); },
  });

  // iterator helpers
  const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  const countOf = (n) => {
    const count = Math.trunc(Number(n));
    if (Number.isNaN(count) || count < 0) throw new RangeError(`${n} must be positive`);
    return count;
  };
  const each = (self) => ({ [Symbol.iterator]: () => self });
  const lazily = (make) => {
    const generator = make();
    return generator;
  };
  add(iteratorPrototype, {
    map(fn) { const self = this; return lazily(function* map() { let i = 0; for (const item of each(self)) yield fn(item, i++); }); },
    filter(fn) { const self = this; return lazily(function* filter() { let i = 0; for (const item of each(self)) if (fn(item, i++)) yield item; }); },
    take(n) {
      const self = this, count = countOf(n);
      return lazily(function* take() {
        let left = count;
        if (left === 0) return;
        for (const item of each(self)) {
          yield item;
          if (--left === 0) return;
        }
      });
    },
    drop(n) { const self = this, count = countOf(n); return lazily(function* drop() { let left = count; for (const item of each(self)) if (left-- <= 0) yield item; }); },
    flatMap(fn) { const self = this; return lazily(function* flatMap() { let i = 0; for (const item of each(self)) yield* fn(item, i++); }); },
    reduce(fn, ...start) {
      let result = start[0], first = start.length === 0, i = 0;
      for (const item of each(this)) {
        result = first ? item : fn(result, item, i);
        first = false;
        i++;
      }
      if (first) throw new TypeError('Reduce of a done iterator with no initial value');
      return result;
    },
    toArray() { return [...each(this)]; },
    forEach(fn) { let i = 0; for (const item of each(this)) fn(item, i++); },
    some(fn) { let i = 0; for (const item of each(this)) if (fn(item, i++)) return true; return false; },
    every(fn) { let i = 0; for (const item of each(this)) if (!fn(item, i++)) return false; return true; },
    find(fn) { let i = 0; for (const item of each(this)) if (fn(item, i++)) return item; return undefined; },
  });
  if (typeof globalThis.Iterator === 'undefined') {
    function Iterator() { if (!new.target || new.target === Iterator) throw new TypeError('Abstract class Iterator not directly constructable'); }
    Iterator.prototype = iteratorPrototype;
    Iterator.from = (items) => (items[Symbol.iterator] ? items[Symbol.iterator]() : Object.setPrototypeOf({ next: () => items.next() }, iteratorPrototype));
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
