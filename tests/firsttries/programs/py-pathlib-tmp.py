# Task: write the open issues to /tmp/issues.json and read the size of the list back
# Want: 3
import json
from pathlib import Path

path = Path("/tmp") / "issues.json"
path.write_text(json.dumps(tools.github.list_issues(owner="acme", repo="shop"), indent=2))
len(json.loads(path.read_text()))
