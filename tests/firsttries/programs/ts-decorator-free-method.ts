// Task: time a call and report its name
// Prints: list_channels took
async function timed<T>(name: string, f: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  try {
    return await f();
  } finally {
    console.log(`${name} took ${Math.round(performance.now() - begun)} ms`);
  }
}
await timed("list_channels", () => tools.slack.list_channels({}));
