# Task: write three lines to a file and read them back
# Want: ["a","b","c"]
import os
import tempfile

with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as f:
    f.write("a\nb\nc\n")
with open(f.name) as g:
    lines = g.read().splitlines()
os.remove(f.name)
lines
