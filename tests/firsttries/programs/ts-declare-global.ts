// Task: count channels
// Want: 2
declare const tools: {
  slack: { list_channels(args?: {}): Promise<{ ok: boolean; channels: { id: string; name: string }[] }> };
};

const { channels } = await tools.slack.list_channels({});
return channels.length;
