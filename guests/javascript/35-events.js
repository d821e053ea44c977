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
  const dictionary = (value) => {
    if (value !== undefined && value !== null && typeof value !== 'object' && typeof value !== 'function') {
      throw $.coded(new TypeError('The "options" argument must be of type object.'), 'ERR_INVALID_ARG_TYPE');
    }
    return value ?? {};
  };
  const missing = (name) => $.coded(new TypeError(`The "${name}" argument must be specified`), 'ERR_MISSING_ARGS');
  const phases = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 };
  let stateOf; // what EventTarget changes in an event
  const { get: trusted } = Object.getOwnPropertyDescriptor({ get isTrusted() { return stateOf(this).trusted; } }, 'isTrusted');

  class Event {
    #type; #bubbles; #cancelable; #composed; #time = $.now() - $.started;
    #state = { target: null, phase: 0, stopped: false, immediately: false, canceled: false, passive: false, trusted: false };
    static { stateOf = (event) => event.#state; }
    constructor(type, options = undefined) {
      if (arguments.length === 0) throw missing('type');
      const { bubbles, cancelable, composed } = dictionary(options);
      this.#type = String(type);
      this.#bubbles = Boolean(bubbles);
      this.#cancelable = Boolean(cancelable);
      this.#composed = Boolean(composed);
      Object.defineProperty(this, 'isTrusted', { get: trusted, enumerable: true });
    }
    get type() { return this.#type; }
    get bubbles() { return this.#bubbles; }
    get cancelable() { return this.#cancelable; }
    get composed() { return this.#composed; }
    get timeStamp() { return this.#time; }
    get target() { return this.#state.target; }
    get srcElement() { return this.#state.target; }
    get currentTarget() { return this.#state.phase ? this.#state.target : null; }
    get eventPhase() { return this.#state.phase; }
    get defaultPrevented() { return this.#state.canceled; }
    get returnValue() { return !this.#state.canceled; }
    set returnValue(value) { if (!value) this.preventDefault(); }
    get cancelBubble() { return this.#state.stopped; }
    set cancelBubble(value) { if (value) this.#state.stopped = true; }
    composedPath() { return this.#state.phase ? [this.#state.target] : []; }
    preventDefault() { if (this.#cancelable && !this.#state.passive) this.#state.canceled = true; }
    stopPropagation() { this.#state.stopped = true; }
    stopImmediatePropagation() { this.#state.stopped = this.#state.immediately = true; }
    initEvent(type, bubbles = false, cancelable = false) {
      if (arguments.length === 0) throw missing('type');
      if (this.#state.phase) return;
      this.#type = String(type);
      this.#bubbles = Boolean(bubbles);
      this.#cancelable = Boolean(cancelable);
      Object.assign(this.#state, { target: null, stopped: false, immediately: false, canceled: false });
    }
  }
  for (const name of Object.keys(phases)) {
    for (const owner of [Event, Event.prototype]) Object.defineProperty(owner, name, { value: phases[name], enumerable: true });
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options = undefined) {
      if (arguments.length < 2) throw missing('listener');
      const { capture, once, passive, signal } = typeof options === 'object' && options !== null ? options : { capture: options };
      if (signal !== undefined && !(signal instanceof AbortSignal)) {
        throw $.coded(new TypeError('The "options.signal" property must be an instance of AbortSignal.'), 'ERR_INVALID_ARG_TYPE');
      }
      if (listener === null || listener === undefined) return;
      if (typeof listener !== 'function' && typeof listener !== 'object') {
        throw $.coded(new TypeError('The "listener" argument must be an instance of EventListener.'), 'ERR_INVALID_ARG_TYPE');
      }
      const name = String(type), list = this.#listeners.get(name) ?? [], captures = Boolean(capture);
      if (list.some((entry) => entry.listener === listener && entry.captures === captures) || signal?.aborted) return;
      this.#listeners.set(name, [...list, { listener, captures, once: Boolean(once), passive: Boolean(passive), removed: false }]);
      signal?.addEventListener('abort', () => this.removeEventListener(name, listener, captures), { once: true });
    }
    removeEventListener(type, listener, options = undefined) {
      if (arguments.length < 2) throw missing('listener');
      const captures = Boolean(typeof options === 'object' && options !== null ? options.capture : options);
      this.#listeners.set(String(type), (this.#listeners.get(String(type)) ?? []).filter((entry) => {
        if (entry.listener !== listener || entry.captures !== captures) return true;
        entry.removed = true;
        return false;
      }));
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) throw $.coded(new TypeError('The "event" argument must be an instance of Event.'), 'ERR_INVALID_ARG_TYPE');
      const state = stateOf(event);
      if (state.phase) throw new DOMException('The event is already being dispatched', 'InvalidStateError');
      state.target = this;
      state.phase = phases.AT_TARGET;
      try {
        const handler = this[`on${event.type}`];
        if (typeof handler === 'function') handler.call(this, event);
        const list = this.#listeners.get(event.type) ?? [];
        for (const entry of [...list.filter(({ captures }) => captures), ...list.filter(({ captures }) => !captures)]) {
          if (state.immediately) break;
          if (entry.removed) continue;
          const { listener, captures, once } = entry;
          if (once) this.removeEventListener(event.type, listener, captures);
          state.passive = entry.passive;
          if (typeof listener === 'function') listener.call(this, event);
          else listener.handleEvent(event);
        }
      } finally {
        Object.assign(state, { phase: phases.NONE, passive: false, stopped: false, immediately: false });
      }
      return !state.canceled;
    }
  }
  class CustomEvent extends Event {
    #detail;
    constructor(type, options = undefined) {
      super(...arguments);
      this.#detail = dictionary(options).detail ?? null;
    }
    get detail() { return this.#detail; }
  }

  // ---- AbortController ----
  const key = Symbol('made by the platform');
  class AbortSignal extends EventTarget {
    #aborted = false; #reason = undefined; #followers = []; #sources = [];
    onabort = null;
    constructor(token) {
      super();
      if (token !== key) throw $.coded(new TypeError('Illegal constructor'), 'ERR_ILLEGAL_CONSTRUCTOR');
      Object.defineProperty(this, 'onabort', { enumerable: false });
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    // Signals that follow others are aborted before any listener runs.
    static [key](signal, reason) {
      if (signal.#aborted) return;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      const all = [signal, ...signal.#followers.filter((one) => !one.#aborted)];
      for (const one of all) {
        one.#aborted = true;
        one.#reason = signal.#reason;
      }
      for (const one of all) {
        const event = new Event('abort');
        stateOf(event).trusted = true;
        one.dispatchEvent(event);
      }
    }
    static abort(reason = undefined) {
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
      const all = new AbortSignal(key), list = [...signals];
      for (const signal of list) {
        if (!(signal instanceof AbortSignal)) throw $.coded(new TypeError('The "signals" argument must hold AbortSignals.'), 'ERR_INVALID_ARG_TYPE');
      }
      const aborted = list.find((signal) => signal.#aborted);
      if (aborted) AbortSignal[key](all, aborted.#reason);
      else {
        // one that follows others is replaced by them, so that the order of events does not depend on nesting
        for (const source of new Set(list.flatMap((signal) => (signal.#sources.length > 0 ? signal.#sources : [signal])))) {
          all.#sources.push(source);
          source.#followers.push(all);
        }
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
