// Task: build a link to search issues with label bug
// Want: "https://github.example/acme/shop/issues?q=label%3Abug+is%3Aopen&page=2"
const url = new URL("/acme/shop/issues", "https://github.example");
url.searchParams.set("q", "label:bug is:open");
url.searchParams.append("page", 2);
return url.toString();
