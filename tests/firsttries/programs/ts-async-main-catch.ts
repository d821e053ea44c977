// Sentence: javascript
// Task: number of open bugs
// Want: 2
type Issue = { number: number; labels: string[]; state: "open" | "closed" };

async function main(): Promise<number> {
  const issues: Issue[] = await tools.github.list_issues({ owner: "acme", repo: "shop", state: "open" });
  return issues.filter((i: Issue): boolean => i.labels.includes("bug")).length;
}

main().catch((err: unknown) => {
  console.error(err);
  process.exit(1);
});
