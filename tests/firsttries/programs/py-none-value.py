# Task: post a message; nothing to return
# Want: null
def notify(text):
    tools.slack.post_message(channel="#alerts", text=text)

notify("done")
