package python_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// website answers wexec:fetch and wexec:read like a host would.
func website(t *testing.T) func(name, args string) answer {
	bodies := map[int]string{}
	return func(name, args string) answer {
		switch name {
		case "wexec:fetch":
			var r struct {
				Method, URL, Body, Redirect string
				Headers                     [][2]string
			}
			if err := json.Unmarshal([]byte(args), &r); err != nil {
				t.Errorf("a request that is not JSON: %s", args)
			}
			switch {
			case strings.Contains(r.URL, "denied"):
				return answer{kind: answerError, data: `{"code":"denied.network","message":"denied.org is not granted","rule":"policy.yaml:9"}`}
			case strings.Contains(r.URL, "down"):
				return answer{kind: answerError, data: `{"code":"upstream.unavailable","message":"no route","hint":"try later"}`}
			}
			status := 200
			if strings.Contains(r.URL, "missing") {
				status = 404
			}
			sent, _ := base64.StdEncoding.DecodeString(r.Body)
			seen, _ := json.Marshal(map[string]any{"method": r.Method, "url": r.URL, "headers": r.Headers, "body": string(sent), "redirect": r.Redirect})
			bodies[len(bodies)+1] = string(seen)
			return answer{data: fmt.Sprintf(`{"status":%d,"statusText":"","url":%q,"headers":[["Content-Type","application/json"],["X-A","1"],["x-a","2"]],"body":%d,"redirected":false}`, status, r.URL, len(bodies))}
		case "wexec:read":
			var r struct{ Stream, Max int }
			json.Unmarshal([]byte(args), &r)
			part := bodies[r.Stream]
			part = part[:min(len(part), 40, r.Max)]
			bodies[r.Stream] = bodies[r.Stream][len(part):]
			return answer{kind: answerBytes, data: part}
		}
		return answer{data: "null"}
	}
}

func TestTheWebIsReachedThroughTheHost(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"urlopen", "import urllib.request, json\nwith urllib.request.urlopen('https://x.org/a') as r:\n    d = json.load(r)\n[d['method'], d['url'], r.status, r.headers['content-type'], r.getheader('X-A') if hasattr(r, 'getheader') else '1']", `["GET","https://x.org/a",200,"application/json","1"]`},
		{"urlopen post", "import urllib.request, json\nr = urllib.request.Request('https://x.org', data=b'k=v', headers={'X': 'y'})\nd = json.loads(urllib.request.urlopen(r).read())\n[d['method'], d['body'], ['X', 'y'] in d['headers']]", `["POST","k=v",true]`},
		{"urlopen missing", "import urllib.request, urllib.error\ntry:\n    urllib.request.urlopen('https://x.org/missing')\nexcept urllib.error.HTTPError as e:\n    r = [e.code, len(e.read()) > 10]\nr", `[404,true]`},
		{"urlopen down", "import urllib.request, urllib.error\ntry:\n    urllib.request.urlopen('https://down.org/')\nexcept urllib.error.URLError as e:\n    r = str(e)\nr", `"<urlopen error no route>"`},
		{"get", "import requests\nr = requests.get('https://x.org/a?z=1', params={'q': 'x y', 'n': [1, 2]}, headers={'A': 'b'}, timeout=5)\n[r.status_code, r.ok, r.json()['url'], r.headers['x-A'], r.reason, r.encoding]", `[200,true,"https://x.org/a?z=1&q=x+y&n=1&n=2","1, 2","OK","utf-8"]`},
		{"post json", "import requests\nd = requests.post('https://x.org', json={'a': 1}).json()\n[d['method'], d['body'], ['Content-Type', 'application/json'] in d['headers']]", `["POST","{\"a\": 1}",true]`},
		{"post form", "import requests\nd = requests.post('https://x.org', data={'a': 1}, auth=('u', 'p')).json()\n[d['body'], dict(map(tuple, d['headers']))['Authorization']]", `["a=1","Basic dTpw"]`},
		{"session", "import requests\nwith requests.Session() as s:\n    s.headers.update({'T': 'k'})\n    d = s.put('https://x.org', data='x').json()\n[d['method'], ['T', 'k'] in d['headers']]", `["PUT",true]`},
		{"status", "import requests\ntry:\n    requests.get('https://x.org/missing').raise_for_status()\nexcept requests.HTTPError as e:\n    r = [str(e), e.response.status_code]\nr", `["404 Client Error: Not Found for url: https://x.org/missing",404]`},
		{"down", "import requests\ntry:\n    requests.get('https://down.org')\nexcept requests.exceptions.ConnectionError as e:\n    r = str(e)\nr", `"no route"`},
		{"lines", "import requests\nr = requests.get('https://x.org', stream=True)\nsum(map(len, r.iter_content(16))) > 50", "true"},
		{"denied", "import requests\ntry:\n    requests.get('https://denied.org')\nexcept PolicyError as e:\n    r = [e.code, e.rule]\nr", `["denied.network","policy.yaml:9"]`},
		{"denied like a connection", "import requests\ntry:\n    requests.get('https://denied.org')\nexcept requests.exceptions.RequestException as e:\n    r = str(e)\nr", `"denied.org is not granted"`},
		{"urlopen denied", "import urllib.request, urllib.error\ntry:\n    urllib.request.urlopen('https://denied.org')\nexcept urllib.error.URLError as e:\n    r = [str(e), e.code]\nr", `["denied.org is not granted","denied.network"]`},
		{"httpx", "import httpx\nr = httpx.get('https://x.org/a', params={'q': 1}).raise_for_status()\n[r.status_code, r.is_success, r.json()['url'], r.json()['redirect']]", `[200,true,"https://x.org/a?q=1","manual"]`},
		{"httpx client", "import httpx\nwith httpx.Client(base_url='https://x.org/v1', headers={'T': 'k'}, follow_redirects=True) as c:\n    d = c.post('/a', json={'b': 1}).json()\n[d['url'], d['body'], ['T', 'k'] in d['headers'], d['redirect']]", `["https://x.org/v1/a","{\"b\": 1}",true,"follow"]`},
		{"httpx async", "import httpx\nasync with httpx.AsyncClient(timeout=httpx.Timeout(10.0)) as c:\n    rs = await asyncio.gather(c.get('https://x.org/1'), c.get('https://x.org/2'))\n[r.json()['url'] for r in rs]", `["https://x.org/1","https://x.org/2"]`},
		{"httpx status", "import httpx\ntry:\n    httpx.get('https://x.org/missing').raise_for_status()\nexcept httpx.HTTPStatusError as e:\n    r = e.response.status_code\nr", "404"},
		{"httpx down", "import httpx\ntry:\n    httpx.get('https://down.org')\nexcept httpx.RequestError as e:\n    r = str(e)\nr", `"no route"`},
		{"httpx denied", "import httpx\ntry:\n    httpx.get('https://denied.org')\nexcept httpx.HTTPError as e:\n    r = [str(e), e.code, isinstance(e, PolicyError)]\nr", `["denied.org is not granted","denied.network",true]`},
		{"aiohttp", "import aiohttp\nasync def load(s, n):\n    async with s.get(f'https://x.org/{n}', params={'q': 1}) as r:\n        return [r.status, (await r.json())['url']]\nasync with aiohttp.ClientSession(headers={'T': 'k'}) as s:\n    out = await asyncio.gather(load(s, 1), load(s, 2))\nout", `[[200,"https://x.org/1?q=1"],[200,"https://x.org/2?q=1"]]`},
		{"aiohttp post", "import aiohttp\nasync with aiohttp.ClientSession('https://x.org', timeout=aiohttp.ClientTimeout(total=5)) as s:\n    r = await s.post('/a', json={'b': 1})\n    d = await r.json()\n[d['method'], d['body'], len(await r.text()) > 10]", `["POST","{\"b\": 1}",true]`},
		{"aiohttp status", "import aiohttp\nasync with aiohttp.ClientSession() as s:\n    try:\n        (await s.get('https://x.org/missing')).raise_for_status()\n    except aiohttp.ClientResponseError as e:\n        r = e.status\nr", "404"},
		{"aiohttp denied", "import aiohttp\nasync with aiohttp.ClientSession() as s:\n    try:\n        await s.get('https://denied.org')\n    except aiohttp.ClientError as e:\n        r = [str(e), e.code]\nr", `["denied.org is not granted","denied.network"]`},
		{"aiohttp down", "import aiohttp\nasync with aiohttp.ClientSession() as s:\n    try:\n        await s.get('https://down.org')\n    except aiohttp.ClientConnectorError as e:\n        r = str(e)\nr", `"no route"`},
		{"no scheme", "import requests\ntry:\n    requests.get('x.org')\nexcept ValueError as e:\n    r = 'https://x.org' in str(e)\nr", "true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := run(t, c.code, func(h *host) { h.handle = website(t) }).value(t); got != c.want {
				t.Errorf("the value is %s, want %s", got, c.want)
			}
		})
	}
	f := run(t, "import requests\nrequests.get('https://down.org')", func(h *host) { h.handle = website(t) }).fault(t)
	if f.Code != "upstream.unavailable" || f.Hint != "try later" || f.Line != 2 {
		t.Errorf("a server that is down is %+v", f)
	}
	f = run(t, "import urllib.request\nurllib.request.urlopen('https://denied.org')", func(h *host) { h.handle = website(t) }).fault(t)
	if f.Code != "denied.network" || f.Line != 2 {
		t.Errorf("a host that is denied is %+v", f)
	}
}
