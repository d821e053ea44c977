// node:assert.
($) => {
  class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) {
      super(message);
      Object.assign(this, { code: 'ERR_ASSERTION', actual, expected, operator });
    }
  }
  $.define(AssertionError.prototype, 'name', 'AssertionError');

  const same = (a, b, loose) => {
    if (Object.is(a, b) || (loose && typeof a !== 'object' && typeof b !== 'object' && a == b)) return true; // eslint-disable-line eqeqeq
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    const kind = $.kind(a);
    if (kind !== $.kind(b) || (!loose && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b))) return false;
    if (kind === 'Date') return Object.is(a.getTime(), b.getTime());
    if (kind === 'RegExp') return String(a) === String(b);
    if (kind === 'Error' && (a.message !== b.message || a.name !== b.name)) return false;
    if (kind === 'Set') return a.size === b.size && [...a].every((x) => b.has(x) || [...b].some((y) => same(x, y, loose)));
    if (kind === 'Map') return a.size === b.size && [...a].every(([k, v]) => b.has(k) && same(v, b.get(k), loose));
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && a.length === b.length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key], loose));
  };

  const check = (good, message, fallback, actual, expected, operator) => {
    if (good) return;
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message ?? fallback(), actual, expected, operator });
  };
  const pair = (operator, test, words) => (actual, expected, message) =>
    check(test(actual, expected), message, () => `${words}\n\n${$.inspect(actual)} !== ${$.inspect(expected)}\n`, actual, expected, operator);
  const fits = (error, expected) => {
    if (expected === undefined || typeof expected === 'string') return true;
    if (expected instanceof RegExp) return expected.test(String(error));
    if (typeof expected === 'function') return expected.prototype !== undefined && error instanceof expected ? true : !(expected.prototype instanceof Error) && expected !== Error && expected(error) === true;
    return Object.keys(expected).every((key) => (expected[key] instanceof RegExp ? expected[key].test(String(error[key])) : same(error[key], expected[key], false)));
  };
  const thrown = (error, expected) => {
    if (!fits(error, expected)) throw error;
  };

  const assert = (value, message) => check(value, message, () => 'The expression evaluated to a falsy value', value, true, '==');
  const equalWords = 'Expected values to be strictly equal:', deepWords = 'Expected values to be strictly deep-equal:';
  Object.assign(assert, {
    ok: assert, AssertionError,
    equal: pair('==', (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b)), 'Expected values to be loosely equal:'), // eslint-disable-line eqeqeq
    notEqual: pair('!=', (a, b) => a != b, 'Expected "actual" to be loosely unequal to:'), // eslint-disable-line eqeqeq
    strictEqual: pair('strictEqual', Object.is, equalWords),
    notStrictEqual: pair('notStrictEqual', (a, b) => !Object.is(a, b), 'Expected "actual" to be strictly unequal to:'),
    deepEqual: pair('deepEqual', (a, b) => same(a, b, true), 'Expected values to be loosely deep-equal:'),
    deepStrictEqual: pair('deepStrictEqual', (a, b) => same(a, b, false), deepWords),
    notDeepStrictEqual: pair('notDeepStrictEqual', (a, b) => !same(a, b, false), 'Expected "actual" not to be strictly deep-equal to:'),
    notDeepEqual: pair('notDeepEqual', (a, b) => !same(a, b, true), 'Expected "actual" not to be loosely deep-equal to:'),
    match: pair('match', (text, pattern) => pattern.test(text), 'The input did not match the regular expression:'),
    doesNotMatch: pair('doesNotMatch', (text, pattern) => !pattern.test(text), 'The input was expected to not match the regular expression:'),
    fail: (message = 'Failed') => check(false, message),
    throws(fn, expected, message) {
      try {
        fn();
      } catch (error) {
        thrown(error, expected);
        return;
      }
      check(false, typeof expected === 'string' ? expected : message, () => 'Missing expected exception.');
    },
    doesNotThrow(fn, message) {
      try {
        fn();
      } catch (error) {
        check(false, typeof message === 'string' ? message : undefined, () => `Got unwanted exception.\nActual message: "${error?.message}"`, error);
      }
    },
    async doesNotReject(promise, message) {
      try {
        await (typeof promise === 'function' ? promise() : promise);
      } catch (error) {
        check(false, typeof message === 'string' ? message : undefined, () => `Got unwanted rejection.\nActual message: "${error?.message}"`, error);
      }
    },
    ifError(value) {
      if (value !== null && value !== undefined) check(false, undefined, () => `ifError got unwanted exception: ${value?.message ?? $.inspect(value)}`, value, null, 'ifError');
    },
    async rejects(promise, expected, message) {
      try {
        await (typeof promise === 'function' ? promise() : promise);
      } catch (error) {
        thrown(error, expected);
        return;
      }
      check(false, typeof expected === 'string' ? expected : message, () => 'Missing expected rejection.');
    },
  });
  // node:assert/strict, and assert.strict: equal means strictEqual
  const strict = (value, message) => assert(value, message);
  Object.assign(strict, assert, { equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual });
  assert.strict = strict.strict = strict;
  $.same = same;
  $.assert = assert;
};
