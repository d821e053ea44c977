# Task: write numbers without newlines
# Prints: 1 2 3
import sys

for i in range(1, 4):
    sys.stdout.write(f"{i} ")
sys.stdout.flush()
print(file=sys.stderr)
