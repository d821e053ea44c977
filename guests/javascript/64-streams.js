// node:stream, node:readline, and the streams of fs and zlib. Made when first used.
($) => {
  const later = (fn, ...list) => $.process.nextTick(fn, ...list);
  const fault = (code, text, Type = Error) => $.coded(new Type(text), code);
  const lazily = (make) => {
    let made;
    return () => (made ??= make());
  };
  const isStream = (value) => typeof value?.on === 'function' && (typeof value.pipe === 'function' || typeof value.write === 'function');

  const stream = lazily(() => {
    const EventEmitter = $.node.events();
    const HIGH = 65536, HIGH_OBJECTS = 16;
    const bytesIn = (chunk) => {
      if (chunk instanceof Uint8Array) return $.bufferOf(chunk);
      throw fault('ERR_INVALID_ARG_TYPE', `The "chunk" argument must be of type string or an instance of Buffer or Uint8Array. Received ${$.inspect(chunk)}`, TypeError);
    };
    const sizeOf = (state, chunk) => (state.objects ? 1 : chunk.length);
    const marks = (options, side) => {
      const objects = Boolean(options.objectMode ?? options[`${side}ObjectMode`]);
      return { objects, high: options.highWaterMark ?? options[`${side}HighWaterMark`] ?? (objects ? HIGH_OBJECTS : HIGH), size: 0 };
    };
    const optional = (self, options, names) => {
      for (const name of names) if (typeof options[name] === 'function') $.define(self, `_${name}`, options[name]);
    };

    class Stream extends EventEmitter {
      constructor() {
        super();
        for (const name of ['destroyed', 'closed']) $.define(this, name, false);
        $.define(this, 'errored', null);
      }
      destroy(error = null) {
        if (this.destroyed) return this;
        this.destroyed = true;
        this.errored = error;
        this._destroy(error, (failure = error) => later(() => {
          this.errored = failure;
          this.closed = true;
          if (failure) this.emit('error', failure);
          this.emit('close');
        }));
        return this;
      }
      _destroy(error, done) { done(error); }
      [Symbol.asyncDispose]() { this.destroy(); return Promise.resolve(); }
    }

    // ---- reading ----
    const schedule = (self) => {
      const state = self._readableState;
      if (state.scheduled) return;
      state.scheduled = true;
      later(() => {
        state.scheduled = false;
        step(self);
      });
    };
    const step = (self) => {
      const state = self._readableState;
      if (self.destroyed) return;
      while (state.flowing && state.list.length > 0) self.emit('data', self.read());
      if (!state.flowing && (state.list.length > 0 || state.ended) && self.listenerCount('readable') > 0) self.emit('readable');
      if (state.ended && state.list.length === 0) {
        if (state.done || !(state.flowing || state.awaited || self.listenerCount('readable') > 0)) return;
        state.done = true;
        self.emit('end');
        if (!self._writableState || self._writableState.done) self.destroy();
        else if (!self.allowHalfOpen) self.end();
      } else if (!state.reading && !state.ended && state.size < state.high && (state.flowing !== false || state.awaited)) {
        state.reading = true;
        try {
          self._read(state.high);
        } catch (error) {
          self.destroy(error);
        }
      }
    };
    class Readable extends Stream {
      constructor(options = {}) {
        super();
        $.define(this, '_readableState', { ...marks(options, 'readable'), list: [], flowing: null, ended: false, done: false, reading: false, scheduled: false, pipes: [] });
        optional(this, options, ['read', 'destroy']);
        if (options.encoding) this.setEncoding(options.encoding);
      }
      _read() { throw fault('ERR_METHOD_NOT_IMPLEMENTED', 'The _read() method is not implemented'); }
      push(chunk, encoding) {
        const state = this._readableState;
        state.reading = false;
        if (chunk === null) {
          const rest = state.decoder?.end();
          if (rest) state.list.push(rest);
          state.ended = true;
        } else if (state.ended) this.destroy(fault('ERR_STREAM_PUSH_AFTER_EOF', 'stream.push() after EOF'));
        else {
          if (!state.objects) {
            if (typeof chunk === 'string') chunk = Buffer.from(chunk, encoding);
            chunk = state.decoder ? state.decoder.write(chunk) : bytesIn(chunk);
          }
          if (state.objects || chunk.length > 0) state.list.push(chunk);
          state.size += sizeOf(state, chunk);
        }
        schedule(this);
        return state.size < state.high;
      }
      unshift(chunk) {
        const state = this._readableState;
        state.list.unshift(chunk);
        state.size += sizeOf(state, chunk);
        schedule(this);
      }
      read(size) {
        const state = this._readableState;
        schedule(this);
        if (state.list.length === 0) return null;
        let chunk;
        if (state.objects || (size === undefined && state.list.length === 1)) chunk = state.list.shift();
        else {
          const whole = typeof state.list[0] === 'string' ? state.list.join('') : Buffer.concat(state.list);
          if (size > whole.length && !state.ended) return null;
          chunk = whole.slice(0, size ?? whole.length);
          state.list = chunk.length < whole.length ? [whole.slice(chunk.length)] : [];
        }
        state.size -= sizeOf(state, chunk);
        return chunk;
      }
      setEncoding(encoding) {
        const state = this._readableState;
        state.decoder = new ($.node.string_decoder().StringDecoder)(encoding);
        state.list = state.list.map((chunk) => state.decoder.write(chunk));
        return this;
      }
      on(type, fn) {
        super.on(type, fn);
        if (type === 'data' && this._readableState.flowing !== false) this.resume();
        if (type === 'readable') schedule(this);
        return this;
      }
      addListener(type, fn) { return this.on(type, fn); }
      resume() { this._readableState.flowing = true; schedule(this); return this; }
      pause() { this._readableState.flowing = false; return this; }
      isPaused() { return this._readableState.flowing === false; }
      pipe(to, { end = true } = {}) {
        const give = (chunk) => {
          if (to.write(chunk) !== false) return;
          this.pause();
          to.once('drain', () => this.resume());
        };
        const finish = () => { if (end && to.fd !== 1 && to.fd !== 2) to.end(); };
        this._readableState.pipes.push({ to, give, finish });
        this.on('data', give);
        this.once('end', finish);
        to.emit('pipe', this);
        this.resume();
        return to;
      }
      unpipe(to) {
        const state = this._readableState;
        for (const pipe of state.pipes.filter((one) => to === undefined || one.to === to)) {
          this.off('data', pipe.give).off('end', pipe.finish);
          pipe.to.emit('unpipe', this);
        }
        state.pipes = state.pipes.filter((one) => to !== undefined && one.to !== to);
        if (state.pipes.length === 0) this.pause();
        return this;
      }
      async* [Symbol.asyncIterator]() {
        const state = this._readableState;
        let wake;
        const woken = () => wake?.(), types = ['readable', 'end', 'error', 'close'];
        for (const type of types) this.on(type, woken);
        state.awaited = true;
        try {
          for (;;) {
            const chunk = this.read();
            if (chunk !== null) yield chunk;
            else if (this.errored) throw this.errored;
            else if (state.done) return;
            else if (this.destroyed) throw fault('ERR_STREAM_PREMATURE_CLOSE', 'Premature close');
            else await new Promise((resolve) => { wake = resolve; });
          }
        } finally {
          for (const type of types) this.off(type, woken);
          if (!state.done) this.destroy();
        }
      }
      async toArray() { return Array.fromAsync(this); }
      async forEach(fn) { for await (const chunk of this) await fn(chunk); }
      map(fn) { return Readable.from((async function* each(all) { for await (const chunk of all) yield await fn(chunk); })(this)); }
      filter(fn) { return Readable.from((async function* each(all) { for await (const chunk of all) if (await fn(chunk)) yield chunk; })(this)); }
      async reduce(fn, ...initial) { return (await this.toArray()).reduce((sum, chunk) => fn(sum, chunk), ...initial); }
      get readable() { return !this.destroyed && !this._readableState.done; }
      get readableEnded() { return this._readableState.done; }
      get readableFlowing() { return this._readableState.flowing; }
      get readableObjectMode() { return this._readableState.objects; }
      get readableLength() { return this._readableState.size; }
      static from(items, options) {
        if (typeof items === 'string' || items instanceof Uint8Array) items = [items];
        const iterator = (items[Symbol.asyncIterator] ?? items[Symbol.iterator]).call(items);
        return new Readable({
          objectMode: true, ...options,
          async read() {
            try {
              const { value, done } = await iterator.next();
              this.push(done ? null : await value);
            } catch (error) {
              this.destroy(error);
            }
          },
          destroy(error, done) {
            if (!this._readableState.ended) Promise.resolve(iterator.return?.()).catch(() => {});
            done(error);
          },
        });
      }
      static fromWeb(web, options) { return Readable.from(web, { objectMode: false, ...options }); }
    }

    // ---- writing ----
    const write = (self) => {
      const state = self._writableState;
      if (state.writing || state.corked || self.destroyed) return;
      const next = state.list.shift();
      if (next === undefined) {
        if (!state.ending || state.finishing) return;
        state.finishing = true;
        self._final((error) => {
          if (error) {
            self.destroy(error);
            return;
          }
          later(() => {
            state.done = true;
            self.emit('finish');
            if (!self._readableState || self._readableState.done) self.destroy();
          });
        });
        return;
      }
      state.writing = true;
      let called = false;
      self._write(next.chunk, next.encoding, (error) => {
        if (called) throw fault('ERR_MULTIPLE_CALLBACK', 'Callback called multiple times');
        called = true;
        state.writing = false;
        state.size -= sizeOf(state, next.chunk);
        if (next.done) later(next.done, error ?? null);
        if (error) {
          self.destroy(error);
          return;
        }
        if (state.drain && state.size === 0) {
          state.drain = false;
          later(() => self.emit('drain'));
        }
        if (state.list.length > 0 || state.ending) later(write, self);
      });
    };
    const writing = {
      write(chunk, encoding, done) {
        if (typeof encoding === 'function') [encoding, done] = [undefined, encoding];
        const state = this._writableState;
        if (chunk === null) throw fault('ERR_STREAM_NULL_VALUES', 'May not write null values to stream', TypeError);
        if (state.ending || this.destroyed) {
          const error = state.ending ? fault('ERR_STREAM_WRITE_AFTER_END', 'write after end') : fault('ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed');
          if (done) later(done, error);
          this.destroy(error);
          return false;
        }
        if (!state.objects) {
          if (typeof chunk === 'string') [chunk, encoding] = state.strings ? [chunk, encoding ?? 'utf8'] : [Buffer.from(chunk, encoding), 'buffer'];
          else [chunk, encoding] = [bytesIn(chunk), 'buffer'];
        }
        state.list.push({ chunk, encoding: encoding ?? 'utf8', done });
        state.size += sizeOf(state, chunk);
        const room = state.size < state.high;
        if (!room) state.drain = true;
        write(this);
        return room;
      },
      end(chunk, encoding, done) {
        if (typeof chunk === 'function') [chunk, done] = [undefined, chunk];
        if (typeof encoding === 'function') [encoding, done] = [undefined, encoding];
        if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
        const state = this._writableState;
        if (done) this.once('finish', done);
        state.ending = true;
        state.corked = 0;
        write(this);
        return this;
      },
      cork() { this._writableState.corked++; },
      uncork() { if (this._writableState.corked > 0 && --this._writableState.corked === 0) write(this); },
      setDefaultEncoding() { return this; },
      _write(chunk, encoding, done) {
        if (!this._writev) throw fault('ERR_METHOD_NOT_IMPLEMENTED', 'The _write() method is not implemented');
        this._writev([{ chunk, encoding }], done);
      },
      _final(done) { done(); },
      get writable() { return !this.destroyed && !this._writableState.ending; },
      get writableEnded() { return this._writableState.ending; },
      get writableFinished() { return this._writableState.done; },
      get writableLength() { return this._writableState.size; },
      get writableNeedDrain() { return this._writableState.drain; },
      get writableObjectMode() { return this._writableState.objects; },
    };
    const beginWriting = (self, options) => {
      $.define(self, '_writableState', { ...marks(options, 'writable'), list: [], strings: options.decodeStrings === false, writing: false, ending: false, finishing: false, done: false, drain: false, corked: 0 });
      optional(self, options, ['write', 'writev', 'final', 'destroy']);
    };
    const withWriting = (type) => {
      for (const name of Object.keys(writing)) Object.defineProperty(type.prototype, name, { ...Object.getOwnPropertyDescriptor(writing, name), enumerable: false });
    };
    class Writable extends Stream {
      constructor(options = {}) {
        super();
        beginWriting(this, options);
      }
      pipe() { throw fault('ERR_STREAM_CANNOT_PIPE', 'Cannot pipe, not readable'); }
    }
    withWriting(Writable);
    Object.defineProperty(Writable, Symbol.hasInstance, { value(value) {
      return Function.prototype[Symbol.hasInstance].call(this, value) || (this === Writable && value instanceof Duplex);
    } });
    class Duplex extends Readable {
      constructor(options = {}) {
        super(options);
        beginWriting(this, options);
        $.define(this, 'allowHalfOpen', options.allowHalfOpen !== false);
      }
    }
    withWriting(Duplex);
    class Transform extends Duplex {
      constructor(options = {}) {
        super(options);
        optional(this, options, ['transform', 'flush']);
      }
      _transform() { throw fault('ERR_METHOD_NOT_IMPLEMENTED', 'The _transform() method is not implemented'); }
      _write(chunk, encoding, done) {
        this._transform(chunk, encoding, (error, data) => {
          if (error) {
            done(error);
            return;
          }
          if (data !== undefined && data !== null) this.push(data);
          const state = this._readableState;
          if (state.size < state.high) done();
          else $.define(this, 'held', done);
        });
      }
      _read() {
        const { held } = this;
        if (held) $.define(this, 'held', undefined);
        held?.();
      }
      _final(done) {
        const end = (error, data) => {
          if (error) {
            done(error);
            return;
          }
          if (data !== undefined && data !== null) this.push(data);
          this.push(null);
          done();
        };
        if (this._flush) this._flush(end);
        else end();
      }
    }
    class PassThrough extends Transform {
      _transform(chunk, encoding, done) { done(null, chunk); }
    }

    // ---- several streams ----
    const finished = (one, options, callback = options) => {
      const stops = [];
      const listen = (type, fn) => {
        one.on(type, fn);
        stops.push(() => one.off(type, fn));
      };
      const stop = () => { for (const end of stops) end(); };
      const end = (error) => {
        stop();
        callback(error);
      };
      const whole = () => (one._readableState?.done ?? true) && (one._writableState?.done ?? true);
      const part = () => { if (whole()) end(); };
      listen('end', part);
      listen('finish', part);
      listen('error', end);
      listen('close', () => end(one.errored ?? (whole() ? undefined : fault('ERR_STREAM_PREMATURE_CLOSE', 'Premature close'))));
      if (one.errored || whole()) later(() => end(one.errored ?? undefined));
      return stop;
    };
    const finishes = (one, options) => new Promise((resolve, reject) => {
      options?.signal?.addEventListener('abort', () => one.destroy(options.signal.reason));
      finished(one, {}, (error) => (error ? reject(error) : resolve()));
    });
    const isOutput = (one) => one.fd === 1 || one.fd === 2;
    const pipelined = async (...stages) => {
      if (Array.isArray(stages[0])) stages = stages[0];
      const options = !isStream(stages.at(-1)) && typeof stages.at(-1) === 'object' ? stages.pop() : undefined;
      const all = [], waits = [];
      const follow = (one) => {
        all.push(one);
        if (!isOutput(one)) waits.push(finishes(one));
        return one;
      };
      let current = typeof stages[0] === 'function' ? stages[0]({ signal: options?.signal }) : stages[0];
      if (isStream(current)) follow(current);
      for (const stage of stages.slice(1)) {
        if (typeof stage === 'function') {
          current = stage(current, { signal: options?.signal });
          continue;
        }
        (isStream(current) ? current : follow(Readable.from(current))).pipe(stage);
        current = follow(stage);
      }
      if (!isStream(current)) waits.push((async () => current)());
      options?.signal?.addEventListener('abort', () => all[0]?.destroy(options.signal.reason));
      try {
        return (await Promise.all(waits)).at(-1);
      } catch (error) {
        for (const one of all) {
          if (isOutput(one)) continue;
          one.on('error', () => {});
          one.destroy(error);
        }
        throw error;
      }
    };
    const pipeline = (...stages) => {
      const callback = stages.pop();
      if (typeof callback !== 'function') throw fault('ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function', TypeError);
      pipelined(...stages).then((value) => callback(undefined, value), callback);
      return stages.flat().at(-1);
    };
    return Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished,
      promises: { pipeline: pipelined, finished: finishes }, isReadable: (one) => Boolean(one?.readable), isErrored: (one) => Boolean(one?.errored),
      addAbortSignal(signal, one) { signal.addEventListener('abort', () => one.destroy(signal.reason)); return one; } });
  });

  const consumers = lazily(() => {
    const bytes = async (source) => {
      const parts = [];
      for await (const part of source) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
      return Buffer.concat(parts);
    };
    const text = async (source) => (await bytes(source)).toString();
    return { text, buffer: bytes, json: async (source) => JSON.parse(await text(source)), blob: async (source) => new Blob([await bytes(source)]),
      arrayBuffer: async (source) => Uint8Array.from(await bytes(source)).buffer };
  });

  // ---- readline ----
  const readline = lazily(() => {
    const EventEmitter = $.node.events();
    class Interface extends EventEmitter {
      #lines = []; #rest = ''; #ended = false; #closed = false; #prompt = '> '; #wake; #asked = []; #failure;
      constructor(given, output) {
        super();
        const { input, output: shown = output, prompt = this.#prompt } = isStream(given) ? { input: given } : given;
        this.#prompt = prompt;
        $.define(this, 'input', input);
        $.define(this, 'output', shown);
        const decoder = new ($.node.string_decoder().StringDecoder)();
        input.on('data', (chunk) => this.#take(typeof chunk === 'string' ? chunk : decoder.write(chunk)));
        input.on('end', () => {
          if (this.#rest !== '') this.#lines.push(this.#rest);
          this.#rest = '';
          this.#ended = true;
          this.#give();
        });
        input.on('error', (error) => { this.#failure = error; this.#wake?.(); if (this.listenerCount('error') > 0) this.emit('error', error); });
      }
      #take(text) {
        const lines = (this.#rest + text).split(/\r\n|\n|\r(?=[^\n])/);
        this.#rest = lines.pop();
        this.#lines.push(...lines);
        this.#give();
      }
      #give() {
        while (this.#lines.length > 0 && !this.#closed && (this.#asked.length > 0 || this.listenerCount('line') > 0)) {
          const line = this.#lines.shift();
          if (this.#asked.length > 0) this.#asked.shift()(line);
          else this.emit('line', line);
        }
        if (this.#ended && this.#asked.length > 0) {
          const error = new Error('the input has no line for the question');
          $.define(error, 'hint', 'a program cannot ask the user: use args or the input that the caller passes');
          throw error;
        }
        this.#wake?.();
        if (this.#ended && this.#lines.length === 0) this.close();
      }
      on(type, fn) {
        super.on(type, fn);
        if (type === 'line') later(() => this.#give());
        return this;
      }
      close() {
        if (this.#closed) return;
        this.#closed = true;
        this.input.pause?.();
        this.#wake?.();
        this.emit('close');
      }
      question(query, options, callback = options) {
        this.output?.write(query);
        this.#asked.push(callback);
        later(() => this.#give());
      }
      setPrompt(text) { this.#prompt = text; }
      getPrompt() { return this.#prompt; }
      prompt() { this.output?.write(this.#prompt); }
      write() {}
      pause() { this.input.pause(); return this; }
      resume() { this.input.resume(); return this; }
      async* [Symbol.asyncIterator]() {
        try {
          for (;;) {
            if (this.#lines.length > 0) yield this.#lines.shift();
            else if (this.#failure) throw this.#failure;
            else if (this.#ended || this.#closed) return;
            else await new Promise((resolve) => { this.#wake = resolve; });
          }
        } finally {
          this.close();
        }
      }
      [Symbol.dispose]() { this.close(); }
    }
    class Asking extends Interface {
      question(query) { return new Promise((resolve) => { super.question(query, resolve); }); }
    }
    const done = (...list) => { list.findLast((one) => typeof one === 'function')?.(); return true; };
    return { Interface, createInterface: (...list) => new Interface(...list), clearLine: done, cursorTo: done, moveCursor: done, clearScreenDown: done,
      promises: { Interface: Asking, createInterface: (...list) => new Asking(...list) } };
  });

  // ---- streams of files ----
  $.fs.createReadStream = (path, options) => {
    const { encoding, start = 0, end = Infinity, highWaterMark = 65536 } = typeof options === 'string' ? { encoding: options } : options ?? {};
    let bytes, at = start;
    const file = new (stream().Readable)({ encoding, highWaterMark, read() {
      bytes ??= $.fs.readFileSync(path);
      const stop = Math.min(bytes.length, end + 1), part = bytes.subarray(at, Math.min(at + highWaterMark, stop));
      at += part.length;
      file.bytesRead += part.length;
      if (part.length > 0) this.push(part);
      else this.push(null);
    } });
    return Object.assign(file, { path, bytesRead: 0 });
  };
  $.fs.createWriteStream = (path, options) => {
    const { encoding, flags = 'w' } = typeof options === 'string' ? { encoding: options } : options ?? {};
    const file = new (stream().Writable)({ write(chunk, _, done) {
      try {
        $.fs.appendFileSync(path, chunk, encoding);
        file.bytesWritten += chunk.length;
      } catch (error) {
        done(error);
        return;
      }
      done();
    } });
    later(() => {
      if (!file.destroyed) for (const type of ['open', 'ready']) file.emit(type);
    });
    try {
      $.fs.writeFileSync(path, '', { flag: flags });
    } catch (error) {
      file.destroy(error);
    }
    return Object.assign(file, { path, bytesWritten: 0, close(done) { this.end(done); } });
  };
  const packing = (name) => (options) => {
    const parts = [];
    return new (stream().Transform)({
      transform(chunk, _, done) { parts.push(chunk); done(); },
      flush(done) {
        try {
          done(null, $.node.zlib()[`${name}Sync`](Buffer.concat(parts), options));
        } catch (error) {
          done(error);
        }
      },
    });
  };
  $.streamsOf = (zlib) => {
    for (const name of ['gzip', 'gunzip', 'deflate', 'inflate', 'deflateRaw', 'inflateRaw', 'unzip']) {
      zlib[`create${name[0].toUpperCase()}${name.slice(1)}`] = packing(name);
    }
  };

  // process.stdin
  $.inputStream = () => {
    let read = false;
    const input = new (stream().Readable)({ read() {
      if (read) return;
      read = true;
      globalThis.stdin.text().then((text) => {
        if (text !== '') input.push(Buffer.from(text));
        input.push(null);
      });
    } });
    return Object.assign(input, { fd: 0, isTTY: false, unref() { return this; }, ref() { return this; } });
  };

  Object.assign($.node, { stream, 'stream/promises': () => stream().promises, 'stream/consumers': consumers, readline, 'readline/promises': () => readline().promises });
};
