words = args["text"].split()
return {**args, "tags": (args["tags"] or []) + [f"{len(words)} words"]}
