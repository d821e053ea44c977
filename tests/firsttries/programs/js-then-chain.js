// Sentence: javascript
// Task: the message of the newest commit
// Want: "chore: bump deps"
return tools.github
  .list_commits({ owner: "acme", repo: "shop" })
  .then((commits) => commits.sort((a, b) => new Date(b.date) - new Date(a.date)))
  .then(([newest]) => newest.message);
