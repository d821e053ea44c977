# Task: print the source of the helper that is used
# Prints: return sum(c["additions"] for c in commits)
import inspect

def additions(commits):
    return sum(c["additions"] for c in commits)

commits = tools.github.list_commits(owner="acme", repo="shop")
print(additions(commits))
print(inspect.getsource(additions))
