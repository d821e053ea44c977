// The third program queries it again.
const best = orders.reduce((a, b) => (b.total > a.total ? b : a));
return { orders: orders.length, spent, best: best.total };
