// Task: wait 20 ms and then list channels
// Want: ["general","alerts"]
import { setTimeout as delay } from "node:timers/promises";
await delay(20);
const { channels } = await tools.slack.list_channels({});
return channels.map((c) => c.name);
