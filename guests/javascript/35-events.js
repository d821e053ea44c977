// Timers, events, AbortController, performance, queueMicrotask.
($) => {
  const needsFunction = (fn) => {
    if (typeof fn !== 'function') {
      throw $.coded(new TypeError(`The "callback" argument must be of type function. Received ${$.inspect(fn)}`), 'ERR_INVALID_ARG_TYPE');
    }
  };

  // the result of setTimeout: an object as in Node, which also converts to a number
  class Timeout {
    #id;
    #held = true;
    constructor(id) { this.#id = id; }
    ref() { $.holdTimer(this.#id, this.#held = true); return this; }
    unref() { $.holdTimer(this.#id, this.#held = false); return this; }
    hasRef() { return this.#held; }
    close() { $.stopTimer(this.#id); return this; }
    [Symbol.toPrimitive]() { return this.#id; }
  }
  $.markTimers(Timeout.prototype);
  const delayOf = (ms) => {
    const n = Number(ms);
    return n >= 1 ? n : 1;
  };
  $.expose('setTimeout', function setTimeout(fn, ms, ...list) {
    needsFunction(fn);
    return new Timeout($.startTimer(fn, delayOf(ms), false, true, list));
  });
  $.expose('setInterval', function setInterval(fn, ms, ...list) {
    needsFunction(fn);
    return new Timeout($.startTimer(fn, delayOf(ms), true, true, list));
  });
  $.expose('setImmediate', function setImmediate(fn, ...list) {
    needsFunction(fn);
    return new Timeout($.startTimer(fn, 0, false, true, list));
  });
  const stop = (timer) => {
    if (timer instanceof Timeout || typeof timer === 'number' || typeof timer === 'string') $.stopTimer(Number(timer));
  };
  $.expose('clearTimeout', function clearTimeout(timer) { stop(timer); });
  $.expose('clearInterval', function clearInterval(timer) { stop(timer); });
  $.expose('clearImmediate', function clearImmediate(timer) { stop(timer); });
  $.expose('queueMicrotask', function queueMicrotask(fn) {
    needsFunction(fn);
    Promise.resolve().then(() => {
      try {
        fn();
      } catch (error) {
        $.startTimer(() => { throw error; }, 0, false, true, []);
      }
    });
  });

  $.expose('navigator', { userAgent: `QuickJS/${$.version}`, hardwareConcurrency: 1, language: 'en-US', languages: ['en-US'] });

  $.expose('performance', {
    now: () => $.now() - $.started,
    get timeOrigin() { return Date.now() - ($.now() - $.started); },
    mark: () => undefined,
    measure: () => undefined,
    toJSON() { return { timeOrigin: this.timeOrigin }; },
  });
  $.started = 0;

  // ---- events ----
  class Event {
    #type; #cancelable; #stopped = false;
    target = null;
    currentTarget = null;
    defaultPrevented = false;
    constructor(type, options = {}) {
      this.#type = String(type);
      this.#cancelable = Boolean(options?.cancelable);
      $.define(this, 'timeStamp', $.now() - $.started);
    }
    get type() { return this.#type; }
    get cancelable() { return this.#cancelable; }
    get stopped() { return this.#stopped; }
    preventDefault() { if (this.#cancelable) this.defaultPrevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { this.#stopped = true; }
  }
  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      if (listener === null || listener === undefined) return;
      const { once = false, signal } = typeof options === 'object' && options !== null ? options : {};
      const list = this.#listeners.get(type) ?? [];
      if (list.some((entry) => entry.listener === listener) || signal?.aborted) return;
      list.push({ listener, once });
      this.#listeners.set(type, list);
      signal?.addEventListener('abort', () => this.removeEventListener(type, listener));
    }
    removeEventListener(type, listener) {
      const list = this.#listeners.get(type);
      if (list) this.#listeners.set(type, list.filter((entry) => entry.listener !== listener));
    }
    dispatchEvent(event) {
      event.target = event.currentTarget = this;
      const handler = this[`on${event.type}`];
      if (typeof handler === 'function') handler.call(this, event);
      for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
        if (once) this.removeEventListener(event.type, listener);
        if (typeof listener === 'function') listener.call(this, event);
        else listener.handleEvent(event);
        if (event.stopped) break;
      }
      return !event.defaultPrevented;
    }
  }
  class CustomEvent extends Event {
    constructor(type, options = {}) {
      super(type, options);
      this.detail = options?.detail ?? null;
    }
  }

  // ---- AbortController ----
  const key = Symbol('made by the platform');
  class AbortSignal extends EventTarget {
    #aborted = false; #reason = undefined;
    onabort = null;
    constructor(token) {
      super();
      if (token !== key) throw $.coded(new TypeError('Illegal constructor'), 'ERR_ILLEGAL_CONSTRUCTOR');
      Object.defineProperty(this, 'onabort', { enumerable: false });
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    static [key](signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      signal.dispatchEvent(new Event('abort'));
    }
    static abort(reason) {
      const signal = new AbortSignal(key);
      AbortSignal[key](signal, reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal(key);
      $.startTimer(() => AbortSignal[key](signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
        delayOf(ms), false, false, []);
      return signal;
    }
    static any(signals) {
      const all = new AbortSignal(key);
      for (const signal of signals) {
        if (signal.aborted) {
          AbortSignal[key](all, signal.reason);
          break;
        }
        signal.addEventListener('abort', () => AbortSignal[key](all, signal.reason));
      }
      return all;
    }
    [$.customInspect]() { return `AbortSignal { aborted: ${this.#aborted} }`; }
  }
  class AbortController {
    #signal = new AbortSignal(key);
    get signal() { return this.#signal; }
    abort(reason) { AbortSignal[key](this.#signal, reason); }
    [$.customInspect]() { return `AbortController { signal: ${$.inspect(this.#signal)} }`; }
  }
  for (const type of [Event, EventTarget, CustomEvent, AbortSignal, AbortController]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
    $.expose(type.name, type);
  }
};
