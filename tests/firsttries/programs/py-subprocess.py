# Sentence: grants
# Task: list the files of the current folder
# Prints: cannot
import subprocess

try:
    print(subprocess.run(["ls"], capture_output=True, text=True).stdout)
except Exception as e:
    print("cannot run commands:", e)
