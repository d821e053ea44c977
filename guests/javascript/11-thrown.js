// Finds where a value that is not an Error was thrown. Such a value records no
// place, so the source is searched for a throw that can have produced it.
($) => {
  // Source with comments and strings blanked: the length stays the same, so that
  // positions stay valid. Literals are kept by their start.
  const blanked = (code) => {
    const token = /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"|`(?:[^`\\]|\\[^])*`|(?<=[=(,:[!&|?{};\n]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g;
    const literals = new Map();
    const plain = code.replace(token, (text, at) => {
      if (text[0] !== '/') literals.set(at, text);
      return text.replace(/[^\n]/g, text[0] === '/' ? ' ' : '_');
    });
    return { plain, literals };
  };
  const escapes = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', 0: '\0', '\n': '' };
  const textIn = (literal) => literal.slice(1, -1).replace(/\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([^]))/gi,
    (all, a, b, c, one) => (one === undefined ? String.fromCodePoint(parseInt(a ?? b ?? c, 16)) : escapes[one] ?? one));

  // 2: the expression produces the value, 1: it may, 0: it does not
  const gives = (value, { plain, literals }, at) => {
    const literal = literals.get(at), rest = plain.slice(at + (literal ?? '').length);
    if (literal === undefined) {
      if (typeof value === 'string') return /^[A-Za-z_$(]/.test(rest) && !/^(?:new\b|null\b|true\b|false\b|undefined\b)/.test(rest) ? 1 : 0;
      const word = /^(?:-?[\d.]+n?|null|undefined|true|false)(?=\s*[;,)}\n]|$)/.exec(rest);
      if (word) return word[0].replace(/n$/, '') === String(value) ? 2 : 0;
      if (typeof value === 'object' && value !== null) return /^[{[]/.test(rest) ? 2 : /^(?:new\s+(?!\w*Error\b)|[A-Za-z_$(])/.test(rest) ? 1 : 0;
      return /^[A-Za-z_$(]/.test(rest) && !/^new\b/.test(rest) ? 1 : 0;
    }
    if (typeof value !== 'string') return 0;
    if (literal[0] === '`' && literal.includes('${')) {
      const head = textIn(`\`${literal.slice(1).split('${')[0]}\``), tail = /[^}]*$/.exec(literal.slice(0, -1))[0];
      return value.startsWith(head) && value.endsWith(tail) ? 2 : 0;
    }
    const text = textIn(literal);
    if (/^\s*\+/.test(rest)) return value.startsWith(text) ? 2 : 0;
    return value === text ? 2 : 0;
  };

  // {line, column} of the place, or the lines of several
  $.thrownAt = (value, code) => {
    if (typeof code !== 'string' || code.length > 1 << 18) return {};
    const text = blanked(code), found = [[], [], []];
    for (const match of text.plain.matchAll(/\bthrow[ \t]+|\breject\(\s*/g)) {
      found[gives(value, text, match.index + match[0].length)].push(match.index);
    }
    const likely = found[2].length > 0 ? found[2] : found[1];
    const places = likely.map((at) => {
      const before = code.slice(0, at).split('\n');
      return { line: before.length, column: before[before.length - 1].length + 1 };
    });
    const lines = [...new Set(places.map((place) => place.line))];
    return lines.length === 1 ? places[0] : { lines };
  };
};
