# Task: count the errors of the log by message
# Want: {"timeout":2,"disk full":1}
import re
from collections import Counter

log = tools.github.get_file_contents(owner="acme", repo="shop", path="logs/app.log")
pattern = re.compile(r"^(?P<ts>\S+) ERROR (?P<msg>.+?)(?: from \S+)?$", re.MULTILINE)
counter = Counter(m["msg"] for m in pattern.finditer(log))
dict(counter.most_common())
