# Sentence: python
# Task: print commits per author
# Prints: mona: 3
from collections import defaultdict

counts = defaultdict(int)
for commit in tools.github.list_commits(owner="acme", repo="shop"):
    counts[commit["author"]["login"]] += 1
for author, n in sorted(counts.items(), key=lambda kv: -kv[1]):
    print(f"{author}: {n}")
