// Task: post to #general, wait a moment, and post again
// Want: [true,true]
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const first = await tools.slack.post_message({ channel: "general", text: "one" });
await sleep(50);
const second = await tools.slack.post_message({ channel: "general", text: "two" });
return [first.ok, second.ok];
