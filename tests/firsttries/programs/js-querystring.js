// Task: parse a query string and build another
// Want: ["shop","a=1&b=x%20y"]
const qs = require("querystring");
const parsed = qs.parse("repo=shop&owner=acme");
return [parsed.repo, qs.stringify({ a: 1, b: "x y" })];
