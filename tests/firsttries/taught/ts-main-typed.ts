// Sentence: javascript
// Task: how many open issues are there?
// Want: 3
interface Issue {
  number: number;
  title: string;
}

const issues: Issue[] = await tools.github.list_issues({ owner: "acme", repo: "shop" });
return issues.length;
