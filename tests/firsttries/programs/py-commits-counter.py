# Task: count commits per author of acme/shop
# Want: {"mona":3,"hubot":2,"defunkt":1}
from collections import Counter

commits = tools.github.list_commits(owner="acme", repo="shop")
Counter(c["author"]["login"] for c in commits)
