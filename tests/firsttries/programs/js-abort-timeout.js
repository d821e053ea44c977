// Task: wait for a promise with a timeout
// Want: "timeout"
const withTimeout = (p, ms) => Promise.race([p, new Promise((_, rej) => setTimeout(() => rej(new Error("timeout")), ms))]);
try {
  await withTimeout(new Promise(() => {}), 30);
} catch (e) {
  return e.message;
}
