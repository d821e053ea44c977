// The exceptions of host calls, and the error outcome of an exception that ends
// a program: its code, its place in the program's source, its stack.
($) => {
  const { define } = $;
  // puts a global where scripts expect it: not enumerable, replaceable
  $.expose = (name, value) => {
    const prototype = typeof value === 'function' && Object.getOwnPropertyDescriptor(value, 'prototype');
    if (prototype && !prototype.writable) $.classes.add(value);
    return define(globalThis, name, value);
  };
  $.classes = new WeakSet(); // the prelude's classes, for console.log

  class ToolError extends Error {
    constructor(message, fields) {
      super(message);
      for (const key of ['code', 'tool', 'hint', 'rule']) {
        if (fields && fields[key] !== undefined && fields[key] !== '') this[key] = fields[key];
      }
    }
  }
  class PolicyError extends ToolError {}
  // guest.result and guest.stalled: programs never see one
  class GuestFault extends ToolError {}
  for (const type of [ToolError, PolicyError, GuestFault]) define(type.prototype, 'name', type.name);
  $.ToolError = ToolError;
  $.PolicyError = PolicyError;
  $.expose('ToolError', ToolError);
  $.expose('PolicyError', PolicyError);

  // the exception for {code, message, hint, tool, rule}
  $.failure = (answer) => {
    const fields = answer !== null && typeof answer === 'object' ? { ...answer } : {};
    if (typeof fields.code !== 'string' || fields.code === '') fields.code = 'internal';
    for (const key of ['tool', 'hint', 'rule']) if (typeof fields[key] !== 'string') delete fields[key];
    const { code } = fields;
    const type = code.startsWith('denied.') ? PolicyError : code.startsWith('guest.') ? GuestFault : ToolError;
    const error = new type(typeof fields.message === 'string' ? fields.message : 'the call failed', fields);
    delete error.stack; // it would show the prelude; the place of the call is added later
    return error;
  };
  $.hook('error', $.failure);

  const frame = /^ {4}at (?:.* \()?([^<\n].*?):(\d+):(\d+)\)?$/m;

  // {file, line, column} of an error; missing parts are undefined
  const placeOf = (error, file) => {
    const own = (key) => (Object.hasOwn(error, key) ? error[key] : undefined);
    // a name such as <input> belongs to parsed text, for example JSON
    if (typeof own('lineNumber') === 'number' && own('lineNumber') > 0 && !String(own('fileName')).startsWith('<')) {
      return { file: own('fileName') || file, line: own('lineNumber'), column: own('columnNumber') };
    }
    const found = frame.exec(typeof error.stack === 'string' ? error.stack : '');
    return found ? { file: found[1], line: Number(found[2]), column: Number(found[3]) } : {};
  };

  // The expression that ends where a call's arguments begin: `rows.map` of
  // `[1, 2].rows.map(`, with the brackets that belong to it.
  const calleeIn = (text) => {
    const opening = { ')': '(', ']': '[' };
    let at = text.length;
    while (at > 0) {
      const c = text[at - 1];
      if (/[\w$.?]/.test(c)) at--;
      else if (c in opening || c === '"' || c === "'" || c === '`') {
        if (/[\w$]/.test(text[at] ?? '.')) break; // the bracket does not belong to the callee
        let depth = 0, i = at - 1;
        if (c in opening) {
          for (; i >= 0; i--) {
            if (text[i] === c) depth++;
            else if (text[i] === opening[c] && --depth === 0) break;
          }
        } else i = text.lastIndexOf(c, at - 2);
        if (i < 0) break;
        at = i;
      } else break;
    }
    return text.slice(at).replace(/^[.?]+/, '');
  };

  const textOf = (value) => {
    try {
      return typeof value === 'string' ? value : $.inspect(value);
    } catch {
      return 'a value that cannot be printed';
    }
  };

  // An error outcome of the ABI. The program may have thrown anything.
  const describe = (error, input) => {
    const isError = $.kind(error) === 'Error' || error instanceof Error;
    const outcome = { code: 'guest.exception' };
    const file = (input && input.file) || '';
    if (!isError) {
      outcome.name = 'Error';
      outcome.message = error === null ? 'null' : textOf(error);
      outcome.hint = 'throw new Error(…) instead: only an Error records where it was thrown';
      const { line, column, lines } = $.thrownAt(error, input && input.code);
      if (line > 0) Object.assign(outcome, { file, line, column, text: $.sourceLine(input, file, line) });
      else if (lines && lines.length > 1) outcome.hint += `; here it was on one of the lines ${lines.slice(0, 9).join(', ')}`;
      return outcome;
    }
    outcome.name = String(error.name);
    outcome.message = String(error.message);
    const place = placeOf(error, file);
    if (error instanceof ToolError && error.code) {
      outcome.code = String(error.code);
      for (const key of ['tool', 'rule', 'hint']) if (error[key]) outcome[key] = String(error[key]);
      if (error instanceof GuestFault) delete outcome.name;
    } else if (typeof error.fault === 'string' && $.faults.has(error)) {
      outcome.code = error.fault;
    } else if (outcome.name === 'SyntaxError' && Object.hasOwn(error, 'fileName') && !String(place.file).startsWith('<')) {
      outcome.code = 'guest.syntax';
    }
    if (!input && outcome.code === 'guest.exception') outcome.code = 'internal';
    if (place.line > 0) {
      outcome.file = String(place.file);
      outcome.line = place.line;
      if (place.column > 0) outcome.column = place.column;
      const text = $.sourceLine(input, outcome.file, place.line);
      if (text !== undefined) outcome.text = text;
      if (outcome.message === 'not a function' && text !== undefined && place.column > 1) {
        const callee = calleeIn(text.slice(0, place.column - 1).replace(/\?\.$/, ''));
        if (callee) {
          outcome.message = `${callee} is not a function`;
          if (typeof error.stack === 'string') $.define(error, 'stack', error.stack.replace('not a function', () => outcome.message));
        }
      }
    }
    let stack = typeof error.stack === 'string' ? error.stack : '';
    for (let cause = error.cause, depth = 0; cause !== undefined && depth < 5; depth++) {
      stack += `\ncaused by: ${cause instanceof Error ? cause.stack : textOf(cause)}`;
      cause = cause instanceof Error ? cause.cause : undefined;
    }
    if (stack && !(error instanceof GuestFault)) outcome.stack = stack.slice(0, 16384);
    if (!outcome.hint) {
      const hint = (error.hint && typeof error.hint === 'string' && error.hint) || $.hintFor(outcome, input);
      if (hint) outcome.hint = hint;
    }
    return outcome;
  };
  $.faults = new WeakSet(); // errors of the prelude that have .fault

  $.sourceLine = (input, file, line) => {
    let code;
    if (input && file === input.file) code = input.code;
    else if ($.readSource) code = $.readSource(file);
    if (typeof code !== 'string') return undefined;
    let start = 0;
    for (let n = 1; n < line; n++) {
      start = code.indexOf('\n', start) + 1;
      if (start === 0) return undefined;
    }
    const end = code.indexOf('\n', start);
    return code.slice(start, Math.min(end < 0 ? code.length : end, start + 1000)).replace(/\r$/, '');
  };

  $.hook('describe', (error, input) => {
    try {
      return describe(error, input);
    } catch {
      return { code: 'guest.exception', name: 'Error', message: 'the program failed with an error that cannot be inspected' };
    }
  });
};
