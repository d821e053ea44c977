package javascript_test

import "testing"

// TestStreamsOfNode uses streams, readline and descriptors as programs for Node do.
func TestStreamsOfNode(t *testing.T) {
	const head = "const { Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished } = require('stream'), fs = require('fs'), order = [];\n"
	for _, c := range []struct{ code, want string }{
		{"const r = new Readable(); r.push('a'); r.push('b'); r.push(null); let all = ''; for await (const c of r) all += c; return all", `"ab"`},
		{"const r = Readable.from(['a', 'b']); r.on('data', (c) => order.push(c)).on('end', () => order.push('end')).on('close', () => order.push('close')); order.push('first'); await new Promise((f) => r.on('close', f)); return order", `["first","a","b","end","close"]`},
		{"const r = new Readable({ read() { this.push(null) } }); r.destroy(new Error('x')); return new Promise((f) => r.on('error', (e) => f(e.message)))", `"x"`},
		{"try { for await (const c of Readable.from((function* () { yield 1; throw new Error('x') })())) order.push(c) } catch (e) { order.push(e.message) } return order", `[1,"x"]`},
		{"const r = Readable.from([1, 2, 3, 4]); for await (const c of r) { if (c === 2) break } await new Promise((f) => r.on('close', f)); return r.destroyed", "true"},
		{"return Readable.from([1, 2, 3]).filter((n) => n > 1).map(async (n) => n * 2).toArray()", "[4,6]"},
		{"const r = Readable.from(['héllo'], { objectMode: false }); r.setEncoding('hex'); return (await r.toArray()).join('')", `"68c3a96c6c6f"`},
		{"const r = new Readable({ read() {} }); r.on('readable', () => { let c; while ((c = r.read(2)) !== null) order.push(String(c)) }); r.push('abcde'); r.push(null); await new Promise((f) => r.on('end', f)); return order", `["ab","cd","e"]`},
		{"const w = new Writable({ highWaterMark: 3, write(c, e, done) { order.push(String(c)); setTimeout(done, 1) } }); order.push(w.write('a'), w.write('bcd')); w.on('drain', () => { order.push('drain'); w.end('e', () => order.push('finish')) }); await new Promise((f) => w.on('close', f)); return order", `["a",true,false,"bcd","drain","e","finish"]`},
		{"const w = new Writable({ write(c, e, done) { done(new Error('full')) } }); w.write('a', (e) => order.push(e.message)); return new Promise((f) => w.on('error', (e) => f([...order, e.message])))", `["full","full"]`},
		{"const w = new Writable({ write(c, e, d) { d() } }); w.end(); w.write('a'); return new Promise((f) => w.on('error', (e) => f(e.code)))", `"ERR_STREAM_WRITE_AFTER_END"`},
		{"const t = new Transform({ transform(c, e, d) { this.push(c); d(null, '!') }, flush(d) { d(null, 'end') } }); t.write('a'); t.end('b'); return Buffer.concat(await t.toArray()).toString()", `"a!b!end"`},
		{"const t = new Transform({ objectMode: true, transform(n, e, d) { d(null, n + 1) } }); for (let n = 0; n < 100; n++) t.write(n); t.end(); return (await t.toArray()).length", "100"},
		{"return new Promise((f) => pipeline(Readable.from(['a', 'b']), new PassThrough(), fs.createWriteStream('/tmp/out'), (e) => f([e ?? null, fs.readFileSync('/tmp/out', 'utf8')])))", `[null,"ab"]`},
		{"return require('stream/promises').pipeline(Readable.from([1, 2]), async function* (all) { for await (const n of all) yield n * 2 }, async (all) => { let sum = 0; for await (const n of all) sum += n; return sum })", "6"},
		{"const t = new Transform({ transform(c, e, d) { d(new Error('bad')) } }), r = Readable.from(['a']); try { await require('stream/promises').pipeline(r, t) } catch (e) { return [e.message, r.destroyed, t.destroyed] }", `["bad",true,true]`},
		{"try { await require('stream/promises').pipeline(fs.createReadStream('/tmp/none'), process.stdout) } catch (e) { return e.code }", `"ENOENT"`},
		{"const d = new PassThrough(); return new Promise((f) => { finished(d, (e) => f(e ?? 'whole')); d.resume(); d.end('x') })", `"whole"`},
		{"const d = new PassThrough(); return new Promise((f) => { finished(d, (e) => f(e.code)); d.destroy() })", `"ERR_STREAM_PREMATURE_CLOSE"`},
		{"return [new Duplex({ read() {} }) instanceof Writable, new Duplex() instanceof Readable, new Readable() instanceof Writable, new Readable() instanceof require('stream')]", "[true,true,false,true]"},
		{"fs.writeFileSync('/tmp/a', 'one\\ntwo\\r\\nthree'); const rl = require('readline').createInterface({ input: fs.createReadStream('/tmp/a', { highWaterMark: 2 }) }); for await (const l of rl) order.push(l); return order", `["one","two","three"]`},
		{"const rl = require('readline').createInterface(Readable.from(['a\\nb\\n'])); rl.on('line', (l) => order.push(l)); await require('events').once(rl, 'close'); return order", `["a","b"]`},
		{"fs.writeFileSync('/tmp/a', 'abcdef'); return String(await require('stream/consumers').text(fs.createReadStream('/tmp/a', { start: 1, end: 3 })))", `"bcd"`},
		{"const z = require('zlib'); return require('stream/consumers').text(Readable.from(['a', 'b']).pipe(z.createGzip()).pipe(z.createGunzip()))", `"ab"`},
		{"const fd = fs.openSync('/tmp/a', 'w'); fs.writeSync(fd, 'abc'); fs.writeFileSync(fd, 'd'); fs.closeSync(fd); const r = fs.openSync('/tmp/a'), b = Buffer.alloc(2); fs.readSync(r, b); fs.readSync(r, b); return [String(b), fs.fstatSync(r).size]", `["cd",4]`},
		{"try { fs.writeSync(9, 'x') } catch (e) { return e.code }", `"EBADF"`},
		{"const f = await fs.promises.open('/tmp/a', 'w'); await f.writeFile('a\\nb\\n'); await f.close(); const g = await fs.promises.open('/tmp/a'); for await (const l of g.readLines()) order.push(l); return order", `["a","b"]`},
		{"fs.mkdirSync('/tmp/d/e', { recursive: true }); fs.writeFileSync('/tmp/d/e/f', 'abc'); fs.cpSync('/tmp/d', '/tmp/g', { recursive: true }); fs.truncateSync('/tmp/g/e/f', 2); return fs.readFileSync('/tmp/g/e/f', 'utf8')", `"ab"`},
		{"return require('module').createRequire('/tmp/main.js')('path').basename('/a/b')", `"b"`},
	} {
		if got := string(run(t, head+c.code).document); got != c.want {
			t.Errorf("%s\ngives %s, want %s", c.code, got, c.want)
		}
	}
}

// TestStandardInputIsAFileAndAStream reads the input in the ways of Node.
func TestStandardInputIsAFileAndAStream(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"return require('fs').readFileSync(0, 'utf8')", `"é\nb\n"`},
		{"return require('fs').readFileSync('/dev/stdin').length", "5"},
		{"let all = ''; process.stdin.setEncoding('utf8'); process.stdin.on('data', (c) => { all += c }); await require('events').once(process.stdin, 'end'); return all", `"é\nb\n"`},
		{"const parts = []; for await (const part of process.stdin) parts.push(part); return Buffer.concat(parts).toString()", `"é\nb\n"`},
		{"const rl = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout }); const a = await rl.question('? '); rl.close(); return a", `"é"`},
		{"const rl = require('readline').createInterface({ input: process.stdin }), lines = []; for await (const line of rl) lines.push(line); return lines", `["é","b"]`},
	} {
		if got := string(run(t, c.code, func(h *host) { h.stdin = "é\nb\n" }).document); got != c.want {
			t.Errorf("%s\ngives %s, want %s", c.code, got, c.want)
		}
	}
}
