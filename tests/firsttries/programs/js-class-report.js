// Task: a report object with totals per currency
// Want: {"totals":{"EUR":1065.5,"USD":1500},"count":7}
class Report {
  #totals = {};
  count = 0;
  add({ currency, amount }) {
    this.#totals[currency] = (this.#totals[currency] ?? 0) + amount;
    this.count++;
  }
  toJSON() {
    return { totals: this.#totals, count: this.count };
  }
}
const { orders } = await tools.crm.list_orders();
const report = new Report();
orders.forEach((o) => report.add(o));
return report;
