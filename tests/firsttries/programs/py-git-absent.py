# Task: the current commit, or unknown when git is not there
# Want: "unknown"
import subprocess

def current_commit():
    try:
        return subprocess.check_output(["git", "rev-parse", "HEAD"], text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"

current_commit()
