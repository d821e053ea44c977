// console: log and similar methods write to standard output, warn, error and trace to
// standard error.
($) => {
  const STDOUT = 1, STDERR = 2;
  let indent = '';
  const counts = new Map(), times = new Map();

  const print = (fd, list) => {
    let text = $.format(list);
    if (indent) text = indent + text.replaceAll('\n', `\n${indent}`);
    $.write(fd, `${text}\n`);
  };
  const out = (...list) => print(STDOUT, list);
  const err = (...list) => print(STDERR, list);

  const elapsed = (label) => {
    const ms = $.now() - times.get(label);
    if (ms >= 1000) return `${(ms / 1000).toFixed(3)}s`;
    return `${Number(ms.toFixed(3))}ms`;
  };

  // a cell of console.table
  const cell = (value) => $.inspect(value, { depth: typeof value === 'object' && value !== null ? 0 : 2 });

  const drawTable = (head, rows) => {
    const widths = head.map((name, i) => Math.max($.width(name), ...rows.map((row) => $.width(row[i]))) + 2);
    const line = (left, middle, right) => left + widths.map((w) => '─'.repeat(w)).join(middle) + right;
    const padded = (text, width) => ` ${text}${' '.repeat(width - $.width(text) - 1)}`;
    const row = (cells) => `│${cells.map((text, i) => padded(text, widths[i])).join('│')}│`;
    return [line('┌', '┬', '┐'), row(head), line('├', '┼', '┤'), ...rows.map(row), line('└', '┴', '┘')].join('\n');
  };

  // columns a text takes on a terminal
  $.width = (text) => {
    let width = 0;
    for (const c of text.normalize('NFC')) {
      const code = c.codePointAt(0);
      if (code < 0x20 || (code >= 0x7f && code < 0xa0) || /\p{M}/u.test(c)) continue;
      width += (code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) ||
        (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
        (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd))) ? 2 : 1;
    }
    return width;
  };

  const table = (data, only) => {
    if (data === null || typeof data !== 'object') return out(data);
    const isMap = data instanceof Map, isSet = data instanceof Set;
    const entries = isMap ? [...data] : isSet ? [...data].map((v, i) => [i, v]) : Object.entries(data);
    const index = isMap || isSet ? '(iteration index)' : '(index)';
    const columns = [];
    let hasValues = false;
    const rows = entries.map(([key, value], i) => {
      const row = new Map();
      if (isMap) row.set('Key', cell(key));
      if (value !== null && typeof value === 'object' && !isMap) {
        for (const name of only ?? Object.keys(value)) {
          if (!columns.includes(name)) columns.push(name);
          if (Object.hasOwn(value, name)) row.set(name, cell(value[name]));
        }
      } else {
        hasValues = true;
        row.set(Symbol.for('value'), cell(value));
      }
      return [isMap ? String(i) : String(key), row];
    });
    const names = [...(isMap ? ['Key'] : []), ...columns, ...(hasValues ? [Symbol.for('value')] : [])];
    const head = [index, ...names.map((name) => (typeof name === 'symbol' ? 'Values' : name))];
    return out(drawTable(head, rows.map(([key, row]) => [key, ...names.map((name) => row.get(name) ?? '')])));
  };

  $.expose('console', {
    log: out, info: out, debug: out, error: err, warn: err, table,
    dir: (value, options) => print(STDOUT, [$.inspect(value, options ?? {})]),
    dirxml: out,
    trace: (...list) => {
      const holder = { name: 'Trace', message: $.format(list) };
      $.stack(holder);
      print(STDERR, [holder.stack]);
    },
    assert: (condition, ...list) => {
      if (condition) return;
      if (typeof list[0] === 'string') list[0] = `Assertion failed: ${list[0]}`;
      else list.unshift('Assertion failed');
      print(STDERR, list);
    },
    count: (label = 'default') => {
      const key = String(label), n = (counts.get(key) ?? 0) + 1;
      counts.set(key, n);
      out(`${key}: ${n}`);
    },
    countReset: (label = 'default') => { counts.delete(String(label)); },
    group: (...list) => {
      if (list.length > 0) out(...list);
      indent += '  ';
    },
    groupCollapsed: (...list) => globalThis.console.group(...list),
    groupEnd: () => { indent = indent.slice(2); },
    time: (label = 'default') => { times.set(String(label), $.now()); },
    timeLog: (label = 'default', ...list) => {
      if (times.has(String(label))) out(`${label}: ${elapsed(String(label))}`, ...list);
    },
    timeEnd: (label = 'default') => {
      if (!times.has(String(label))) return;
      out(`${label}: ${elapsed(String(label))}`);
      times.delete(String(label));
    },
  });
};
