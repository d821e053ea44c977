// Searches for a tool, reads its declaration, and calls it. With hundreds of
// servers, listing all tools would fill the context.
const { tools: found } = await searchTools("message history of a channel", 1);
const { name, declaration } = await describeTool(found[0].name);
const [server, tool] = name.split(".");
const messages = await tools[server][tool]({ channel: "releases", limit: 1000 });
return { name, takes_a_channel: declaration.includes("channel"), messages: messages.length };
