package catalogue

// guideText is HELPERS.md: it documents the helpers, for whoever reads the tree. The tests run
// its examples.
const guideText = `# Helpers

Globals in JavaScript, builtins in Python, and importable from ` + "`tools`" + ` in both.

## attempt

Calls a function until it works. It gives up at once where another try cannot help: a denial (PolicyError), an unknown tool, wrong arguments.

- retries: how many more tries, 2 where nothing is said
- backoff: the first pause, in milliseconds in JavaScript and in seconds in Python; each one after it is twice as long, and a little random
- retryOn / retry_on: a code or a list of them, a type of error, or a function of the error that says whether to go on
- timeout: how long each try may take, in the same unit; in Python of asynchronous functions
- fallback: a value, or a function of the last error, in place of an exception

` + "```js" + `
const commits = await attempt(() => tools.github.list_commits({ limit: 3 }), { retries: 3, backoff: 100, timeout: 5000, fallback: [] });
return commits.length;
` + "```" + `

` + "```py" + `
from tools import github
return len(attempt(lambda: github.list_commits(limit=3), retries=3, backoff=0.1, retry_on=["tool.timeout"], fallback=[]))
` + "```" + `

## settle

Waits for several branches and loses none of them. A list gives a list, an object or dict gives one with the same names.

- each is {ok: true, value} or {ok: false, error: {code, tool, message, hint}}
- a branch is a promise or something to await, or a function, which is called
- in Python, functions that block run one after the other; coroutines, from tools.aio, run side by side

` + "```js" + `
const all = await settle({ log: tools.github.list_commits({ limit: 1 }), none: tools.slack.history({ channel: "nowhere" }) });
return [all.log.ok, all.none.error.code];
` + "```" + `

` + "```py" + `
from tools import github, slack
both = settle([lambda: github.list_commits(limit=1), lambda: slack.history(channel="nowhere")])
return [both[0]["ok"], both[1]["error"]["code"]]
` + "```" + `

## pages

Every item of a tool that answers in pages, one by one. It asks for the next page only when you come to it, so break out when you have enough.

- cursors are followed: nextCursor, next_page_token, endCursor and the like go into the argument of their family
- where there is none, page counts up as long as pages are full; name page or the size of one (limit, per_page) for that
- JavaScript: ` + "`for await`" + `, or await it to have them all; a third argument takes {limit, maxPages}
- Python: an iterator, asynchronous with tools of tools.aio; max_items and max_pages bound it
- 100 pages at most, unless you say otherwise

` + "```js" + `
let n = 0;
for await (const issue of pages(tools.jira.search, { limit: 50 }, { limit: 20 })) n += issue.key ? 1 : 0;
return n;
` + "```" + `

` + "```py" + `
from tools import github
return sum(1 for commit in pages(github.list_commits, limit=100, page=1, max_items=250))
` + "```" + `

## mapLimit, map_limit

A function of each item, at most n at once, results in the order of the items. Use it where there are many calls to make: the host allows 16 at a time.

- the function gets the item; in JavaScript its index too
- the first error ends it: put attempt or settle inside to keep the others
- in Python, functions that block run one after the other; coroutines run side by side

` + "```js" + `
const sizes = await mapLimit(["general", "incidents"], 2, async channel => (await tools.slack.history({ channel, limit: 5 })).length);
return sizes;
` + "```" + `

` + "```py" + `
from tools.aio import slack
async def size(channel):
    return len(await slack.history(channel=channel, limit=5))
return await map_limit(["general", "incidents"], 2, size)
` + "```" + `

## progress

Tells the person who waits how far it is. It costs next to nothing and gives nothing back.

- done, and total where you know it; a text of a few words
- call it between steps of a second and more, not for each item
- what it says is looked at for personal data, as everything that leaves is

` + "```js" + `
progress(1, 3, "commits");
return "on the way";
` + "```" + `

` + "```py" + `
progress(1, 3, "commits")
return "on the way"
` + "```" + `

## pii

Values such as [EMAIL_1] stand for personal data. You can work with them without seeing it, and pass them on to tools as they are.

- pii.kind(x): email, phone, name …, or nothing where it is none
- pii.equal(a, b): whether two are the same, however they are written
- pii.domain(x): the domain of an address, to group by
- join, sort, split and put them into text as you like; what is not taken apart is found again
- JavaScript: each gives a promise

` + "```js" + `
return await pii.domain("ann@example.org");
` + "```" + `

` + "```py" + `
return pii.domain("ann@example.org")
` + "```" + `
`
