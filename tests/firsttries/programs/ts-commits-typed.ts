// Task: commits per author as a typed record
// Want: {"mona":3,"hubot":2,"defunkt":1}
interface Commit {
  sha: string;
  author: { login: string };
}

const commits = (await tools.github.list_commits({ owner: "acme", repo: "shop" })) as Commit[];
const counts: Record<string, number> = {};
for (const { author } of commits) counts[author.login] = (counts[author.login] ?? 0) + 1;
return counts;
