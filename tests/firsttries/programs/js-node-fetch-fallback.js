// Task: ask httpbin, or say that the network is closed
// Want: "closed"
const fetch = require("node-fetch");
try {
  const res = await fetch("https://httpbin.org/get");
  return res.ok ? "open" : "closed";
} catch {
  return "closed";
}
