# Task: list the files in /tmp after writing one
# Want: true
import os

os.makedirs("/tmp/out", exist_ok=True)
with open("/tmp/out/x.txt", "w") as f:
    f.write("x")
os.listdir("/tmp/out") == ["x.txt"] and os.path.getsize("/tmp/out/x.txt") == 1
