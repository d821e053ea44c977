# Task: tell a missing file from other errors
# Want: "missing"
import errno

def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError as e:
        if e.errno == errno.ENOENT:
            return "missing"
        raise

result = read("/tmp/no-such-file.json")
result
