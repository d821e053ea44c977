# Task: all labels with the issues that have them
# Want: {"bug":[1,4,5],"docs":[3],"feature":[2],"p1":[1],"performance":[4]}
issues = tools.github.list_issues(owner="acme", repo="shop", state="all")
labels = sorted({l for i in issues for l in i["labels"]})
{l: [i["number"] for i in issues if l in i["labels"]] for l in labels}
