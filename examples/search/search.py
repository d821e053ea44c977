# Searches for a tool, reads its declaration, and calls it. With hundreds of
# servers, listing all tools would fill the context.
found = search_tools("message history of a channel", limit=1)["tools"]
about = describe_tool(found[0]["name"])
server, tool = about["name"].split(".")
messages = getattr(getattr(tools, server), tool)(channel="releases", limit=1000)
return {"name": about["name"], "takes_a_channel": "channel" in about["declaration"], "messages": len(messages)}
