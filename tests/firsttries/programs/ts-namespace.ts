// Task: format amounts with a helper namespace
// Want: "1,200.00 USD"
namespace Money {
  export const format = (amount: number, currency: string): string =>
    `${amount.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ",")} ${currency}`;
}

const { orders } = await tools.crm.list_orders({ customer_id: 4 });
return Money.format(orders[0].amount, orders[0].currency);
