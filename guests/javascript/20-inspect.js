// console.log's rendering of values: as in Node, without colors.
($) => {
  const plainKey = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
  const needsEscape = /[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udfff]/;
  const escapes = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '\\': '\\\\' };

  const quote = (text) => {
    let mark = "'";
    if (text.includes("'")) {
      if (!text.includes('"')) mark = '"';
      else if (!text.includes('`') && !text.includes('${')) mark = '`';
    }
    if (!needsEscape.test(text)) return mark + text + mark;
    const escaped = text.replace(/[\x00-\x1f\\\x7f-\x9f']|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (c) => {
      if (c === "'") return mark === "'" ? "\\'" : c;
      if (escapes[c]) return escapes[c];
      const code = c.charCodeAt(0);
      return code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`;
    });
    return mark + escaped + mark;
  };
  $.quote = quote;

  const formatNumber = (n) => (Object.is(n, -0) ? '-0' : String(n));

  const formatText = (ctx, text, nested) => {
    if (!nested) return text;
    let rest = '';
    if (text.length > ctx.maxText) {
      const more = text.length - ctx.maxText;
      rest = `... ${more} more character${more > 1 ? 's' : ''}`;
      text = text.slice(0, ctx.maxText);
    }
    if (text.length > 16 && text.length > ctx.line - ctx.indent - 4 && text.includes('\n')) {
      const lines = text.split(/(?<=\n)/);
      return lines.map(quote).join(` +\n${' '.repeat(ctx.indent + 2)}`) + rest;
    }
    return quote(text) + rest;
  };

  const formatPrimitive = (ctx, value, nested) => {
    switch (typeof value) {
      case 'string': return formatText(ctx, value, nested);
      case 'number': return formatNumber(value);
      case 'bigint': return `${value}n`;
      case 'symbol': return value.toString();
      default: return String(value);
    }
  };

  const ownName = (f) => {
    const own = Object.getOwnPropertyDescriptor(f, 'name');
    return own && typeof own.value === 'string' ? own.value : '';
  };

  // the name of the constructor in the object's chain, null without one
  const constructorName = (object) => {
    for (let o = object; o; o = Object.getPrototypeOf(o)) {
      const own = Object.getOwnPropertyDescriptor(o, 'constructor');
      if (own && typeof own.value === 'function' && ownName(own.value) !== '' && (o !== object || object instanceof own.value)) {
        return ownName(own.value);
      }
    }
    return null;
  };

  const tagOf = (object, name) => {
    let tag;
    try {
      tag = object[Symbol.toStringTag];
    } catch {
      return '';
    }
    if (typeof tag !== 'string' || tag === '' || tag === name) return '';
    return Object.prototype.propertyIsEnumerable.call(object, Symbol.toStringTag) ? '' : ` [${tag}]`;
  };

  const prefix = (name, tag, fallback, size) => {
    const count = size === undefined ? '' : `(${size})`;
    return name === null ? `[${fallback}${count}: null prototype]${tag} ` : `${name}${count}${tag} `;
  };

  const formatFunction = (f, name, tag) => {
    const source = Function.prototype.toString.call(f);
    if ((source.startsWith('class') && source.endsWith('}')) || $.classes.has(f)) {
      const own = ownName(f);
      const parent = Object.getPrototypeOf(f);
      let text = `[class ${own || '(anonymous)'}`;
      if (name !== 'Function' && name !== null) text += ` [${name}]`;
      if (parent && ownName(parent)) text += ` extends ${ownName(parent)}`;
      else if (parent === null) text += ' extends [null prototype]';
      return `${text}]`;
    }
    const kinds = { AsyncFunction: 'AsyncFunction', GeneratorFunction: 'GeneratorFunction', AsyncGeneratorFunction: 'AsyncGeneratorFunction' };
    const type = kinds[$.kind(f)] ?? 'Function';
    let text = `[${type}`;
    if (name === null) text += ' (null prototype)';
    text += ownName(f) === '' ? ' (anonymous)' : `: ${ownName(f)}`;
    text += ']';
    if (name !== type && name !== null && name !== 'Function') text += ` ${name}`;
    return text + (tag && tag !== ` [${type}]` ? tag : '');
  };

  const formatKey = (key) => {
    if (typeof key === 'symbol') return `[${key.toString()}]`;
    if (key === '__proto__') return "['__proto__']";
    return plainKey.test(key) ? key : quote(key);
  };

  const formatProperty = (ctx, object, key, level, inArray) => {
    const own = Object.getOwnPropertyDescriptor(object, key) ?? { value: object[key], enumerable: true };
    let text;
    if (own.get !== undefined) text = own.set !== undefined ? '[Getter/Setter]' : '[Getter]';
    else if (own.set !== undefined) text = '[Setter]';
    else {
      ctx.indent += 2;
      text = format(ctx, own.value, level, true);
      ctx.indent -= 2;
    }
    if (inArray) return text;
    const name = own.enumerable ? formatKey(key) : `[${typeof key === 'symbol' ? key.toString() : key}]`;
    return `${name}: ${text}`;
  };

  const moreItems = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

  const arrayItems = (ctx, array, level) => {
    const output = [];
    const { length } = array;
    for (let i = 0; i < length && output.length < ctx.maxItems; i++) {
      if (Object.hasOwn(array, i)) {
        output.push(formatProperty(ctx, array, String(i), level, true));
        continue;
      }
      let end = i;
      while (end < length && !Object.hasOwn(array, end)) end++;
      output.push(`<${end - i} empty item${end - i > 1 ? 's' : ''}>`);
      i = end - 1;
      if (end >= length) return output;
    }
    if (length > ctx.maxItems) output.push(moreItems(length - ctx.maxItems));
    return output;
  };

  const collection = (ctx, list, one) => {
    const output = [];
    ctx.indent += 2;
    let count = 0;
    for (const item of list) if (++count <= ctx.maxItems) output.push(one(item));
    if (count > ctx.maxItems) output.push(moreItems(count - ctx.maxItems));
    ctx.indent -= 2;
    return output;
  };

  // Short items side by side in columns, where enough of them fit.
  const inColumns = (ctx, output, array) => {
    const hasRest = array.length > ctx.maxItems;
    const count = hasRest ? output.length - 1 : output.length;
    const widths = [];
    let total = 0, longest = 0;
    for (let i = 0; i < count; i++) {
      widths[i] = output[i].length;
      total += widths[i] + 2;
      longest = Math.max(longest, widths[i]);
    }
    const widest = longest + 2;
    if (widest * 3 + ctx.indent >= ctx.line || !(total / widest > 5 || longest <= 6)) return output;
    const bias = Math.max(widest - 3 - Math.sqrt(widest - total / output.length), 1);
    const columns = Math.min(Math.round(Math.sqrt(2.5 * bias * count) / bias), Math.floor((ctx.line - ctx.indent) / widest), 12, 15);
    if (columns <= 1) return output;
    const columnWidths = [];
    for (let c = 0; c < columns; c++) {
      let width = 0;
      for (let i = c; i < count; i += columns) width = Math.max(width, widths[i]);
      columnWidths.push(width + 2);
    }
    const numeric = array.every((item) => typeof item === 'number' || typeof item === 'bigint');
    const rows = [];
    for (let start = 0; start < count; start += columns) {
      const end = Math.min(start + columns, count);
      let row = '';
      for (let i = start; i < end; i++) {
        const width = columnWidths[i - start];
        const last = i === end - 1;
        if (numeric) row += last ? output[i].padStart(width - 2) : `${output[i]}, `.padStart(width);
        else row += last ? output[i] : `${output[i]}, `.padEnd(width);
      }
      rows.push(row);
    }
    if (hasRest) rows.push(output[count]);
    return rows;
  };

  // On one line where the object is simple and fits, else a line for each.
  const join = (ctx, output, base, braces, level, array) => {
    const entries = output.length;
    if (array && entries > 6 && ctx.compact > 0) output = inColumns(ctx, output, array);
    if (ctx.depth - level < ctx.compact && entries === output.length) {
      const start = output.length + ctx.indent + braces[0].length + base.length + 10;
      const total = output.reduce((sum, text) => sum + text.length, output.length + start);
      if (total <= ctx.line && !base.includes('\n') && !output.some((text) => text.includes('\n'))) {
        return `${base ? `${base} ` : ''}${braces[0]} ${output.join(', ')} ${braces[1]}`;
      }
    }
    const newline = `\n${' '.repeat(ctx.indent)}`;
    return `${base ? `${base} ` : ''}${braces[0]}${newline}  ${output.join(`,${newline}  `)}${newline}${braces[1]}`;
  };

  const hexBytes = (buffer) => {
    const bytes = new Uint8Array(buffer);
    const shown = Array.from(bytes.subarray(0, 50), (b) => b.toString(16).padStart(2, '0')).join(' ');
    return `<${shown}${bytes.length > 50 ? ` ... ${bytes.length - 50} more byte${bytes.length > 51 ? 's' : ''}` : ''}>`;
  };

  const formatError = (ctx, error, keys) => {
    let text = typeof error.stack === 'string' && error.stack !== '' ? error.stack : Error.prototype.toString.call(error);
    const name = constructorName(error);
    if (name && error.name === 'Error' && name !== 'Error' && text.startsWith('Error')) text = name + text.slice(5);
    for (const key of ['name', 'message', 'stack']) {
      const at = keys.indexOf(key);
      if (at >= 0 && (key === 'stack' || text.includes(error[key]))) keys.splice(at, 1);
    }
    if (Object.hasOwn(error, 'cause') && !keys.includes('cause')) keys.push('cause');
    if (Array.isArray(error.errors) && !keys.includes('errors') && Object.hasOwn(error, 'errors')) keys.push('errors');
    if (!/\n {4}at /.test(text)) text = `[${text}]`;
    if (ctx.indent > 0) text = text.replaceAll('\n', `\n${' '.repeat(ctx.indent)}`);
    return text;
  };

  const numbered = new Set(['Array', 'Uint8Array', 'Uint8ClampedArray', 'Int8Array', 'Int16Array', 'Uint16Array', 'Int32Array',
    'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']);
  const iterators = { 'Map Iterator': 'Map Iterator', 'Set Iterator': 'Set Iterator', 'Array Iterator': 'Array Iterator', 'String Iterator': 'String Iterator' };

  // [text before the braces, braces, items, source array] of an object
  const parts = (ctx, object, level, name, keys) => {
    const kind = $.kind(object);
    const tag = tagOf(object, name);
    if (numbered.has(kind)) {
      const isArray = kind === 'Array';
      const before = isArray && name === 'Array' && tag === '' ? '' : prefix(name, isArray ? tag : '', kind, object.length);
      return { base: '', braces: [`${before}[`, ']'], output: arrayItems(ctx, object, level), array: object };
    }
    const braces = ['{', '}'];
    switch (kind) {
      case 'Map':
        braces[0] = `${prefix(name, tag, 'Map', object.size)}{`;
        return { base: '', braces, output: collection(ctx, Map.prototype.entries.call(object),
          ([k, v]) => `${format(ctx, k, level, true)} => ${format(ctx, v, level, true)}`) };
      case 'Set':
        braces[0] = `${prefix(name, tag, 'Set', object.size)}{`;
        return { base: '', braces, output: collection(ctx, Set.prototype.values.call(object), (v) => format(ctx, v, level, true)) };
      case 'WeakMap': case 'WeakSet':
        return { base: '', braces: [`${name ?? kind} {`, '}'], output: ['<items unknown>'] };
      case 'Date': {
        const time = Date.prototype.getTime.call(object);
        return { base: Number.isNaN(time) ? 'Invalid Date' : Date.prototype.toISOString.call(object), braces, output: [], bare: true };
      }
      case 'RegExp':
        return { base: RegExp.prototype.toString.call(object), braces, output: [], bare: true };
      case 'Error':
        return { base: formatError(ctx, object, keys), braces, output: [], bare: true };
      case 'Number': case 'String': case 'Boolean': case 'Symbol': case 'BigInt': {
        if (kind === 'String') keys.splice(0, object.length);
        return { base: `[${kind}: ${formatPrimitive(ctx, object.valueOf(), true)}]`, braces, output: [], bare: true };
      }
      case 'Promise': {
        const [state, result] = $.promise(object);
        braces[0] = `${prefix(name, '', 'Promise')}{`;
        if (state === 0) return { base: '', braces, output: ['<pending>'] };
        ctx.indent += 2;
        const text = format(ctx, result, level, true);
        ctx.indent -= 2;
        return { base: '', braces, output: [state === 2 ? `<rejected> ${text}` : text] };
      }
      case 'ArrayBuffer':
        braces[0] = `${prefix(name, '', kind)}{`;
        return { base: '', braces, output: [`[Uint8Contents]: ${hexBytes(object)}`, `byteLength: ${object.byteLength}`] };
      case 'DataView':
        braces[0] = `${prefix(name, '', kind)}{`;
        return { base: '', braces, output: ['byteLength', 'byteOffset', 'buffer'].map((key) => {
          ctx.indent += 2;
          const text = `${key}: ${format(ctx, object[key], level, true)}`;
          ctx.indent -= 2;
          return text;
        }) };
      case 'Generator': case 'AsyncGenerator':
        return { base: '', braces: [`Object [${kind}] {`, '}'], output: [] };
      case 'Arguments':
        return { base: '', braces: ['[Arguments] {', '}'], output: [] };
    }
    if (iterators[kind]) return { base: '', braces: [`Object [${kind}] {`, '}'], output: [] };
    if (typeof object === 'function') return { base: formatFunction(object, name, tag), braces, output: [], bare: true };
    if (name === 'Object' && tag === '') return { base: '', braces, output: [] };
    return { base: '', braces: [`${prefix(name, tag, 'Object')}{`, '}'], output: [], empty: true };
  };

  const keysOf = (object) => {
    const keys = Object.keys(object);
    for (const symbol of Object.getOwnPropertySymbols(object)) {
      if (Object.prototype.propertyIsEnumerable.call(object, symbol)) keys.push(symbol);
    }
    return keys;
  };

  // shown at every depth
  const isSimple = (object, keys) => {
    if (keys.length > 0) return false;
    const kind = $.kind(object);
    if (numbered.has(kind)) return object.length === 0;
    if (kind === 'Map' || kind === 'Set') return object.size === 0;
    return !['Promise', 'ArrayBuffer', 'DataView', 'WeakMap', 'WeakSet'].includes(kind);
  };

  const formatObject = (ctx, object, level) => {
    const name = constructorName(object);
    let keys = keysOf(object);
    if (numbered.has($.kind(object))) {
      keys = keys.filter((key) => typeof key === 'symbol' || !/^(?:0|[1-9]\d*)$/.test(key));
    }
    if (level > ctx.maxDepth && !isSimple(object, keys)) {
      const tag = tagOf(object, name);
      return `[${numbered.has($.kind(object)) && name === 'Array' ? 'Array' : `${name ?? '[Object: null prototype]'}${tag}`}]`;
    }
    ctx.seen.push(object);
    if (!isSimple(object, keys)) ctx.depth = level;
    const { base: text, braces, output, array, bare } = parts(ctx, object, level + 1, name, keys);
    let base = text;
    if (ctx.options.sorted) keys.sort(typeof ctx.options.sorted === 'function' ? ctx.options.sorted : undefined);
    for (const key of keys) output.push(formatProperty(ctx, object, key, level + 1, false));
    ctx.seen.pop();
    if (ctx.circular && ctx.circular.has(object)) {
      const mark = `<ref *${ctx.circular.get(object)}>`;
      if (bare) base = `${mark} ${base}`;
      else braces[0] = `${mark} ${braces[0]}`;
    }
    if (output.length === 0) return bare ? base : `${braces[0]}${braces[1]}`;
    return join(ctx, output, base, braces, level, array);
  };

  const format = (ctx, value, level, nested) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return formatPrimitive(ctx, value, nested);
    const known = $.labelOf && $.labelOf(value);
    if (known) return known;
    const proxy = $.proxy(value);
    if (proxy) return format(ctx, proxy[0], level, nested);
    const custom = value[$.customInspect];
    if (typeof custom === 'function') {
      const shown = custom.call(value, ctx.maxDepth - level, { ...ctx.options, depth: ctx.maxDepth - level, stylize: String }, $.inspect);
      if (shown !== value) return typeof shown === 'string' ? shown.replaceAll('\n', `\n${' '.repeat(ctx.indent)}`) : format(ctx, shown, level, nested);
    }
    if (ctx.seen.includes(value)) {
      ctx.circular ??= new Map();
      if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
      return `[Circular *${ctx.circular.get(value)}]`;
    }
    return formatObject(ctx, value, level);
  };

  $.customInspect = Symbol.for('nodejs.util.inspect.custom');
  $.inspect = (value, options = {}) => {
    const most = (given, usual) => (given === null ? Infinity : given ?? usual);
    const compact = options.compact === true ? Infinity : options.compact === false ? 0 : options.compact ?? 3;
    return format({ options, maxDepth: most(options.depth, 2), maxItems: most(options.maxArrayLength, 100), maxText: most(options.maxStringLength, 10000),
      line: options.breakLength ?? 80, compact, indent: 0, depth: 0, seen: [], circular: undefined }, value, 0, true);
  };

  // util.format: %s %d %i %f %j %o %O %c %%, then the rest
  const formatters = {
    s: (value) => {
      if (typeof value === 'string') return value;
      if (typeof value === 'bigint') return `${value}n`;
      if (typeof value === 'number') return formatNumber(value);
      if (typeof value !== 'object' || value === null) return String(value);
      const own = value.toString;
      if (typeof own === 'function' && own !== Object.prototype.toString && own !== Error.prototype.toString &&
          !(value instanceof Date) && !Array.isArray(value)) return String(value);
      if (value instanceof Error) return String(value);
      return $.inspect(value, { depth: 0 });
    },
    d: (value) => {
      if (typeof value === 'bigint') return `${value}n`;
      return typeof value === 'symbol' ? 'NaN' : formatNumber(Number(value));
    },
    i: (value) => {
      if (typeof value === 'bigint') return `${value}n`;
      return typeof value === 'symbol' ? 'NaN' : formatNumber(parseInt(value, 10));
    },
    f: (value) => (typeof value === 'symbol' ? 'NaN' : formatNumber(parseFloat(value))),
    j: (value) => {
      try {
        return JSON.stringify(value);
      } catch (error) {
        if (/circular/i.test(error.message)) return '[Circular]';
        throw error;
      }
    },
    o: (value) => $.inspect(value, { depth: 4 }),
    O: (value) => $.inspect(value, { depth: 2 }),
    c: () => '',
  };

  $.format = (list) => {
    const one = (value) => (typeof value === 'string' ? value : $.inspect(value));
    if (list.length === 1) return one(list[0]);
    if (typeof list[0] !== 'string' || !list[0].includes('%')) return list.map(one).join(' ');
    let next = 1;
    const head = list[0].replace(/%([sdifjoOc%])/g, (all, letter) => {
      if (letter === '%') return '%';
      return next < list.length ? formatters[letter](list[next++]) : all;
    });
    return [head, ...list.slice(next).map(one)].join(' ');
  };
};
