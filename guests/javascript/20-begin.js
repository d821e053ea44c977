// What a program finds: its arguments, its tools, its environment.
($) => {
  $.hook('content', (list) => list);
  $.hook('describe', (error, input) => ({ code: 'guest.exception', name: String(error && error.name), message: String(error && error.message || error), stack: String(error && error.stack) }));
  $.hook('begin', (input) => { globalThis.args = input.args === undefined ? {} : input.args; });
  globalThis.call = $.call;
  globalThis.console = { log: (...a) => $.write(1, a.join(' ') + '\n') };
  globalThis.setTimeout = (f, ms, ...a) => $.startTimer(f, ms, false, true, a);
};
