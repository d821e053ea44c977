// Task: cache the channels in a global and count them twice
// Want: 4
global.cache = global.cache || {};
async function channels() {
  if (!global.cache.channels) {
    const res = await tools.slack.list_channels();
    global.cache.channels = res.channels;
  }
  return global.cache.channels;
}
return (await channels()).length + (await channels()).length;
