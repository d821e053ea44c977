# --- gather
import asyncio
async def f(i):
    await asyncio.sleep(0.001 * (3 - i))
    return i
async def main():
    print(await asyncio.gather(*(f(i) for i in range(3))))
asyncio.run(main())
# --- order of completion
import asyncio
async def f(i):
    await asyncio.sleep(0.06 * (3 - i))
    return i
async def main():
    for c in asyncio.as_completed([f(0), f(1), f(2)]):
        print(await c)
asyncio.run(main())
# --- exceptions from gather
import asyncio
async def bad(): raise ValueError("x")
async def ok(): return 1
async def main():
    print(await asyncio.gather(bad(), ok(), return_exceptions=True))
    try:
        await asyncio.gather(bad(), ok())
    except ValueError as e:
        print("caught", e)
asyncio.run(main())
# --- task groups
import asyncio
async def f(i):
    await asyncio.sleep(0)
    return i * 2
async def main():
    async with asyncio.TaskGroup() as g:
        ts = [g.create_task(f(i)) for i in range(3)]
    print([t.result() for t in ts])
asyncio.run(main())
# --- task group failure
import asyncio
async def bad(): raise KeyError("k")
async def slow():
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        print("cancelled")
        raise
async def main():
    try:
        async with asyncio.TaskGroup() as g:
            g.create_task(slow())
            g.create_task(bad())
    except* KeyError as e:
        print("group", e.exceptions)
asyncio.run(main())
# --- wait_for
import asyncio
async def main():
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.01)
    except asyncio.TimeoutError:
        print("timeout")
    async with asyncio.timeout(1):
        print("inside")
asyncio.run(main())
# --- queues
import asyncio
async def main():
    q = asyncio.Queue(2)
    async def produce():
        for i in range(4):
            await q.put(i)
        await q.put(None)
    async def consume():
        out = []
        while (x := await q.get()) is not None:
            out.append(x)
        return out
    p, r = asyncio.create_task(produce()), await consume()
    await p
    print(r)
asyncio.run(main())
# --- events and locks
import asyncio
async def main():
    e, l = asyncio.Event(), asyncio.Lock()
    async def w(n):
        await e.wait()
        async with l:
            print(n)
    ts = [asyncio.create_task(w(i)) for i in range(3)]
    await asyncio.sleep(0)
    e.set()
    await asyncio.wait(ts)
asyncio.run(main())
# --- semaphore
import asyncio
async def main():
    s, now, most = asyncio.Semaphore(2), 0, 0
    async def w():
        nonlocal now, most
        async with s:
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1
    await asyncio.gather(*(w() for _ in range(6)))
    print(most)
asyncio.run(main())
# --- async generators
import asyncio
async def g(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
async def main():
    print([x async for x in g(3)], {x: 1 async for x in g(2)})
    async for x in g(1):
        print(x)
asyncio.run(main())
# --- async context manager
import asyncio
from contextlib import asynccontextmanager, AsyncExitStack
@asynccontextmanager
async def c(n):
    print("in", n)
    yield n
    print("out", n)
async def main():
    async with c(1) as a, AsyncExitStack() as s:
        await s.enter_async_context(c(2))
        print(a)
asyncio.run(main())
# --- cancel
import asyncio
async def f():
    try:
        await asyncio.sleep(10)
    finally:
        print("cleanup")
async def main():
    t = asyncio.create_task(f())
    await asyncio.sleep(0)
    t.cancel()
    try:
        await t
    except asyncio.CancelledError:
        print("cancelled", t.cancelled())
asyncio.run(main())
# --- call_later
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    f = loop.create_future()
    loop.call_later(0.02, f.set_result, "late")
    loop.call_soon(print, "soon")
    loop.call_later(0.01, print, "middle")
    print(await f)
asyncio.run(main())
# --- shield
import asyncio
async def f():
    await asyncio.sleep(0.2)
    print("done")
async def main():
    t = asyncio.create_task(f())
    try:
        await asyncio.wait_for(asyncio.shield(t), 0.001)
    except TimeoutError:
        print("gave up")
    await t
asyncio.run(main())
# --- to_thread
import asyncio
async def main():
    print(await asyncio.to_thread(sum, [1, 2, 3]), await asyncio.get_running_loop().run_in_executor(None, max, 4, 2))
asyncio.run(main())
# --- run twice
import asyncio
async def f(x): return x
print(asyncio.run(f(1)), asyncio.run(f(2)))
# --- uncaught in run
import asyncio
async def main():
    await asyncio.sleep(0)
    raise LookupError("gone")
asyncio.run(main())
# --- wait first
import asyncio
async def main():
    a = asyncio.create_task(asyncio.sleep(0.001, "a"))
    b = asyncio.create_task(asyncio.sleep(5, "b"))
    d, p = await asyncio.wait({a, b}, return_when=asyncio.FIRST_COMPLETED)
    print([t.result() for t in d], len(p))
asyncio.run(main())
# --- thread pool
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
with ThreadPoolExecutor(max_workers=4) as p:
    print(list(p.map(lambda x: x * x, range(5))))
    fs = [p.submit(pow, 2, i) for i in range(3)]
    print(sorted(f.result() for f in as_completed(fs)), len(wait(fs).done))
    f = p.submit(lambda: 1 / 0)
    print(type(f.exception()).__name__)
# --- loop by hand
import asyncio
loop = asyncio.new_event_loop()
print(loop.run_until_complete(asyncio.sleep(0, 5)))
loop.close()
# --- barrier and condition
import asyncio
async def main():
    b, c = asyncio.Barrier(2), asyncio.Condition()
    async def w(n):
        await b.wait()
        return n
    print(await asyncio.gather(w(1), w(2)))
    async with c:
        c.notify_all()
asyncio.run(main())
# --- runner
import asyncio
with asyncio.Runner() as r:
    print(r.run(asyncio.sleep(0, "x")))
# --- async iterator class
import asyncio
class A:
    def __init__(self): self.n = 0
    def __aiter__(self): return self
    async def __anext__(self):
        self.n += 1
        if self.n > 2: raise StopAsyncIteration
        return self.n
async def main():
    print([x async for x in A()])
asyncio.run(main())
# --- context of tasks
import asyncio, contextvars
v = contextvars.ContextVar("v")
async def f(): return v.get()
async def main():
    v.set(1)
    t = asyncio.create_task(f())
    v.set(2)
    print(await t, await f())
asyncio.run(main())
# --- coroutine by hand
async def f(): return 7
c = f()
try:
    c.send(None)
except StopIteration as e:
    print(e.value)
