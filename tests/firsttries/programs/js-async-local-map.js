// Task: three calls at a time with a small pool
// Want: [1,2,3,4,5,6,7]
class Pool {
  constructor(size) { this.size = size; this.active = 0; this.waiting = []; }
  async run(fn) {
    if (this.active >= this.size) await new Promise((r) => this.waiting.push(r));
    this.active++;
    try { return await fn(); } finally { this.active--; this.waiting.shift()?.(); }
  }
}
const pool = new Pool(3);
const ids = [1, 2, 3, 4, 5, 6, 7];
const customers = await Promise.all(ids.map((id) => pool.run(() => tools.crm.get_customer({ id }))));
return customers.map((c) => c.id);
