// structuredClone.
($) => {
  const fail = (value) => {
    const shown = typeof value === 'symbol' ? value.toString() : typeof value === 'function' ? value.toString() : '#<Object>';
    throw new $.DOMException(`${shown} could not be cloned.`, 'DataCloneError');
  };
  const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const views = new Set(['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
    'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array', 'DataView']);

  const clone = (value, seen) => {
    if (typeof value === 'symbol' || typeof value === 'function') return fail(value);
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    if ($.proxy(value)) return fail(value);
    const kind = $.kind(value);
    const keep = (copy) => {
      seen.set(value, copy);
      return copy;
    };
    const fill = (copy) => {
      for (const key of Object.keys(value)) {
        Object.defineProperty(copy, key, { value: clone(value[key], seen), writable: true, enumerable: true, configurable: true });
      }
      return copy;
    };
    if (views.has(kind)) {
      const buffer = clone(value.buffer, seen);
      const length = kind === 'DataView' ? value.byteLength : value.length;
      return keep(new globalThis[kind](buffer, value.byteOffset, length));
    }
    switch (kind) {
      case 'Array': {
        const copy = keep([]);
        copy.length = value.length;
        return fill(copy);
      }
      case 'Object': case 'Arguments':
        if (value instanceof File) return keep(new File([value], value.name, value));
        return value instanceof Blob ? keep(value.slice(0, value.size, value.type)) : fill(keep({}));
      case 'Date': return keep(new Date(Date.prototype.getTime.call(value)));
      case 'RegExp': return keep(new RegExp(value.source, value.flags));
      case 'Number': case 'String': case 'Boolean': case 'BigInt': return keep(Object(value.valueOf()));
      case 'ArrayBuffer': return $.detached(value) ? fail(value) : keep(value.slice(0));
      case 'Map': {
        const copy = keep(new Map());
        for (const [k, v] of [...Map.prototype.entries.call(value)]) copy.set(clone(k, seen), clone(v, seen));
        return copy;
      }
      case 'Set': {
        const copy = keep(new Set());
        for (const v of [...Set.prototype.values.call(value)]) copy.add(clone(v, seen));
        return copy;
      }
      case 'Error': {
        const { name } = value, message = Object.getOwnPropertyDescriptor(value, 'message');
        const type = typeof name === 'string' && Object.hasOwn(errors, name) ? errors[name] : Error;
        const copy = keep(value instanceof $.DOMException ? new $.DOMException(value.message, name)
          : new type(message && 'value' in message ? String(message.value) : undefined));
        $.define(copy, 'stack', String(value.stack));
        if (Object.hasOwn(value, 'cause')) $.define(copy, 'cause', clone(value.cause, seen));
        return copy;
      }
    }
    return fail(value);
  };

  $.expose('structuredClone', function structuredClone(value, options) {
    if (arguments.length === 0) {
      throw $.coded(new TypeError('The "value" argument must be specified'), 'ERR_MISSING_ARGS');
    }
    const moved = new Set();
    for (const buffer of options?.transfer ?? []) {
      if ($.kind(buffer) !== 'ArrayBuffer' || moved.has(buffer) || $.detached(buffer)) fail(buffer);
      moved.add(buffer);
    }
    const copy = clone(value, new Map());
    for (const buffer of moved) $.detach(buffer);
    return copy;
  });
};
