// Sentence: answers
// Task: how many open issues are there?
// Want: 3
const response = await tools.github.list_issues({ owner: "acme", repo: "shop" });
return response.data.length;
