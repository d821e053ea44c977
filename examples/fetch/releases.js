// fetch is the usual one. Which hosts it reaches, the policy says; each redirect
// is asked anew.
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
