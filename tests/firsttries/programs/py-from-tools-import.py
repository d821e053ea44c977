# Task: channels' names
# Want: ["general","alerts"]
from tools import slack

[c["name"] for c in slack.list_channels()["channels"]]
