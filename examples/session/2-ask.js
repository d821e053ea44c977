// The second program queries the data.
const spent = {};
for (const o of orders) {
  const s = segment.get(o.customer);
  spent[s] = (spent[s] ?? 0) + o.total;
}
return Object.entries(spent).sort((a, b) => b[1] - a[1])[0];
