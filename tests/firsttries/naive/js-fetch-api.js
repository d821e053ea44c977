// Sentence: grants
// Task: how many open issues are there?
// Want: 3
const res = await fetch("https://api.github.com/repos/acme/shop/issues?state=open");
return (await res.json()).length;
