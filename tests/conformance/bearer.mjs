// Forwards HTTP requests with a bearer token, for clients that cannot send one:
// node bearer.mjs TARGET TOKEN. It prints the port it listens on.
import http from 'node:http';

const [target, token] = process.argv.slice(2);
const to = new URL(target);
const server = http.createServer((req, res) => {
  const out = http.request({
    host: to.hostname, port: to.port, path: req.url, method: req.method,
    headers: { ...req.headers, authorization: `Bearer ${token}` },
  }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.pipe(res);
  });
  out.on('error', () => res.destroy());
  res.on('close', () => out.destroy());
  req.pipe(out);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
