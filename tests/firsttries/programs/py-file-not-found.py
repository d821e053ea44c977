# Sentence: grants
# Task: read /tmp/absent.txt or say that it is missing
# Prints: missing: [Errno 2]
try:
    open("/tmp/absent.txt")
except FileNotFoundError as e:
    print("missing:", e)
