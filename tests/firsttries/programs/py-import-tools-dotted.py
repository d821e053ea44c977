# Task: channels' names
# Want: ["general","alerts"]
import tools.slack as slack

names = [channel["name"] for channel in slack.list_channels()["channels"]]
names
