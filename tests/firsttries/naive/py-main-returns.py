# Sentence: python
# Task: how many open issues are there?
# Want: 3
def main():
    issues = tools.github.list_issues(owner="acme", repo="shop")
    return len(issues)

if __name__ == "__main__":
    main()
