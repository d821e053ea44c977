// Task: 2 to the power of 64 as text
// Want: "18446744073709551616"
const big: bigint = 2n ** 64n;
return big.toString();
