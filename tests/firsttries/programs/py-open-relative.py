# Task: write notes.txt and read it back
# Want: "hello"
with open("notes.txt", "w") as f:
    f.write("hello")
open("notes.txt").read()
