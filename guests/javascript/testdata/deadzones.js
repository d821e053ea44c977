// Each case is a function and what it gives; 'dead' is a ReferenceError.
const cases = [
  [() => { x; let x = 1 }, 'dead'],
  [() => { for (let x of x) {} }, 'dead'],
  [() => { for (let x of (() => x)()) {} }, 'dead'],
  [() => { for (const [a, b] of [[1, 2]]) return a + b }, 3],
  [() => { switch (1) { case 0: let y = 1; case 1: return y } }, 'dead'],
  [() => { switch (0) { case 0: let y = 1; y++; return y } }, 2],
  [() => { const f = () => z; f(); let z = 2 }, 'dead'],
  [() => { const f = () => z; let z = 2; return f() }, 2],
  [() => { let s = 0; for (let i = 0; i < 5; i++) { const k = i * 2; s += k } return s }, 20],
  [() => { const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); return fs.map((f) => f()).join() }, '0,1,2'],
  [() => { let [a, b = a] = [4]; return a + b }, 8],
  [() => { let { a = b, b } = {}; return a }, 'dead'],
  [() => { for (let i = 0; ; i++) { if (i > 0) return u; let u = 5 } }, 'dead'],
  [() => { let n = 0; for (;;) { if (n++ > 0) return typeof u; let u = 5 } }, 'dead'],
  [() => { l: { break l } let q = 7; return q }, 7],
  [() => { l: { if (true) break l; let q = 7 } return typeof q }, 'undefined'],
  [() => { try { throw 1 } catch (e) { let w = e; return w } finally {} }, 1],
  [() => { try { return p; let p } catch (e) { return e.name } }, 'ReferenceError'],
  [() => { let a = 1; eval('a += 2'); return a }, 3],
  [() => { typeof t; let t = 1 }, 'dead'],
  [() => { let a = a + 1 }, 'dead'],
  [() => { let a = (() => a)() }, 'dead'],
  [() => { x = 1; let x }, 'dead'],
  [() => { x++; let x = 1 }, 'dead'],
  [() => { const c = 1; try { c = 2 } catch (e) { return e.name } }, 'TypeError'],
  [() => { class A extends (() => A)() {} }, 'dead'],
  [() => { class A { static x = A } return A.x === A }, true],
  [() => { do { let v = 3; if (v) continue } while (0); return 1 }, 1],
  [() => { for (let x in { a: 1 }) return x }, 'a'],
  [() => { for (let x in (() => x)()) {} }, 'dead'],
  [() => { function* g() { let a = 1; yield a; a += 1; yield a } return [...g()].join() }, '1,2'],
  [() => { class B { constructor() { this.x = 1 } } class C extends B { constructor() { this.y = 1; super() } } new C() }, 'dead'],
];
const wrong = [];
cases.forEach(([run, want], i) => {
  let got;
  try { got = run() } catch (e) { got = e instanceof ReferenceError ? 'dead' : e.name }
  if (got !== want) wrong.push([i, String(run), String(got)]);
});
return wrong;
