// fetch is the standard function. The policy decides each host and each redirect.
const response = await fetch(`${args.site}/releases.json`);
if (!response.ok) throw new Error(`the site answers ${response.status}`);
const releases = await response.json();

let elsewhere = "reached";
try {
  await fetch("https://example.com/");
} catch (e) {
  elsewhere = e.code;
}
const newest = releases.at(-1).tag;
return { newest, downloads: releases.reduce((n, r) => n + r.downloads, 0), elsewhere };
