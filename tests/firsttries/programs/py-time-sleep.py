# Task: post twice with a pause
# Want: [true,true]
import time

first = tools.slack.post_message(channel="general", text="one")
time.sleep(0.05)
second = tools.slack.post_message(channel="general", text="two")
[first["ok"], second["ok"]]
