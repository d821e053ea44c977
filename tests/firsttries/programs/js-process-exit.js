// Task: stop early when there are no closed issues with label "wontfix"
// Prints: nothing to do
const issues = await tools.github.list_issues({ owner: "acme", repo: "shop", state: "closed" });
const wontfix = issues.filter((i) => i.labels.includes("wontfix"));
if (wontfix.length === 0) {
  console.log("nothing to do");
  process.exit(0);
}
throw new Error("unreachable");
