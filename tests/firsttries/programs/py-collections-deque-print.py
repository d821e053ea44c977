# Task: the last two commits' messages, printed
# Prints: feat: dark mode\nchore: bump deps
from collections import deque

for message in deque((c["message"] for c in tools.github.list_commits(owner="acme", repo="shop")), maxlen=2):
    print(message)
