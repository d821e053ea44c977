# Sentence: errors
# Task: post to #alerts, or say that it is not allowed
# Want: "not allowed"
from tools import slack
try:
    slack.post_message(channel="#alerts", text="hello")
    said = "sent"
except PolicyError:
    said = "not allowed"
said
