// Task: titles of the open issues about bugs
// Want: ["Crash on start","Slow search"]
import { callTool } from "../client.js";

const issues = await callTool("github.list_issues", { owner: "acme", repo: "shop", state: "open" });
export default issues.filter((i) => i.labels.includes("bug")).map((i) => i.title);
