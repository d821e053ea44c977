// Task: number of channels, through a call helper
// Want: 2
import { callMCPTool } from "./client.js";

interface Channels { channels: { id: string }[] }
const res = await callMCPTool<Channels>("slack__list_channels", {});
return res.channels.length;
