// Sentence: answers
// Task: how many channels are there?
// Want: 2
const res = await tools.slack.list_channels({});
const data = typeof res === "string" ? JSON.parse(res) : res.content?.[0]?.text ? JSON.parse(res.content[0].text) : res;
return data.channels.length;
