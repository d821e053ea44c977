// Task: money of open orders by a helper namespace with types
// Want: "600.00 EUR"
export namespace Format {
  export interface Options { digits?: number }
  export function money(amount: number, currency: string, { digits = 2 }: Options = {}): string {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}

const { orders } = await tools.crm.list_orders({ status: "pending" });
if (orders.length === 0) {
  return "nothing";
}
return Format.money(orders[0].amount, orders[0].currency);
