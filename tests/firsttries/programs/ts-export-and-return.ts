// Task: login of the author with most commits
// Want: "mona"
export interface Commit { sha: string; author: { login: string } }
export const count = (commits: Commit[]): Map<string, number> =>
  commits.reduce((m, c) => m.set(c.author.login, (m.get(c.author.login) ?? 0) + 1), new Map<string, number>());

const commits: Commit[] = await tools.github.list_commits({ owner: "acme", repo: "shop" });
return [...count(commits)].sort(([, a], [, b]) => b - a)[0][0];
