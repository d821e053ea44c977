"""An event loop that waits in the host, for answers and for time."""

import asyncio
import functools
import inspect
import sys
from asyncio import base_events, events, tasks

import _wexec

from . import state
from .report import Stalled, own, place_in

NO_SOCKETS = "sockets are not available: call a tool, or use requests or urllib.request"


class Waiter:
    """Takes the place of asyncio's selector; its events are answers that arrived."""

    def __init__(self, loop):
        self.loop, self.calls = loop, {}

    def select(self, timeout=None):
        if timeout is None:
            wait = -1
        else:
            wait = max(0, round(timeout * 1e9))
        if not self.calls:
            if wait < 0:
                raise stalled(self.loop)
            if wait:
                _wexec.wait(0, wait)
            return []
        first = _wexec.wait(0, wait)
        came = []
        while first > 0:
            if first in self.calls:
                came.append(first)
            if len(came) == len(self.calls):
                break
            first = _wexec.wait(0, 0)
        if first < 0 and wait < 0 and not came:
            raise stalled(self.loop)
        return came

    def close(self):
        for call in list(self.calls):
            _wexec.cancel(call)
        self.calls.clear()


class Loop(base_events.BaseEventLoop):
    """asyncio's own loop over a Waiter."""

    def __init__(self):
        super().__init__()
        self._selector = Waiter(self)
        self.set_exception_handler(remember)

    def _process_events(self, came):
        for call in came:
            future = self._selector.calls.pop(call)
            if future.cancelled():
                _wexec.cancel(call)
                continue
            try:
                answer = _wexec.take(call)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(answer)

    def call_host(self, name, arguments):
        """A future of the answer to a host call."""
        future = self.create_future()
        call = _wexec.start(name, arguments)
        calls = self._selector.calls
        calls[call] = future

        def given_up(done):
            if done.cancelled() and calls.pop(call, None) is not None:
                _wexec.cancel(call)

        future.add_done_callback(given_up)
        return future

    def call_soon_threadsafe(self, callback, *args, context=None):
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor, func, *args):
        """Runs the function inline, without a thread. A tool runs as a call in flight."""
        from . import tools

        self._check_closed()
        if isinstance(func, tools.Tool):
            return tasks.ensure_future(func.later(*args), loop=self)
        if self._debug:
            self._check_callback(func, "run_in_executor")
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _write_to_self(self):
        pass

    def close(self):
        if not self.is_closed():
            self._selector.close()
        super().close()

    def _no_sockets(self, *args, **kwargs):
        raise OSError(NO_SOCKETS)

    create_connection = create_server = create_datagram_endpoint = getaddrinfo = getnameinfo = _no_sockets
    create_unix_connection = create_unix_server = sock_connect = sock_recv = sock_sendall = _no_sockets
    connect_accepted_socket = add_reader = add_writer = remove_reader = remove_writer = _no_sockets

    def subprocess_exec(self, *args, **kwargs):
        raise OSError("processes are not available: call a tool")

    subprocess_shell = subprocess_exec

    def add_signal_handler(self, number, callback, *args):
        pass

    def remove_signal_handler(self, number):
        return False


class Policy(events.BaseDefaultEventLoopPolicy):
    _loop_factory = Loop

    def get_event_loop(self):
        """The loop, which is made on first use; for the program also after asyncio.run, which ends it."""
        local = self._local
        if local._loop is None and (program_calls() or not local._set_called):
            self.set_event_loop(self.new_event_loop())
        return super().get_event_loop()


async def given(value):
    """An awaitable of a value."""
    return value


def awaitable(value):
    """The argument of an asyncio function: answers of blocking calls are values already."""
    return value if inspect.isawaitable(value) or callable(value) else given(value)


def lenient(function, converted):
    """An asyncio function that the program may also give values; libraries get asyncio's own behavior."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if args and program_calls():
            args = converted(*args)
        return function(*args, **kwargs)

    return call


def program_calls():
    """Whether the program or a module next to it called the function that asks."""
    file = sys._getframe(2).f_code.co_filename
    root = state.input.get("root")
    return file == state.file or bool(root) and file.startswith(root + "/")


def first(one, *others):
    return awaitable(one), *others


def second(group, one, *others):
    return group, awaitable(one), *others


def many(all, *others):
    return [one if inspect.isawaitable(one) else tasks.ensure_future(awaitable(one)) for one in all], *others


def gathered(*all):
    answers = sum(not inspect.isawaitable(one) for one in all)
    if answers > 1:
        print(f"note: {answers} calls ran one after the other; those of from tools.aio import SERVER overlap in asyncio.gather",
              file=sys.stderr)
    return tuple(map(awaitable, all))


def remember(loop, context):
    """An exception of a task that was never retrieved, which asyncio would log, is an error of the program."""
    error = context.get("exception")
    if error is not None:
        state.background.append(error)
    else:
        print(context.get("message", "asyncio: unhandled"), file=sys.stderr)


def drive(awaitable):
    """Runs the program's own coroutine to its end."""
    loop = Loop()
    events.set_event_loop(loop)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 8)  # the loop's frames below the program's first frame
    task = tasks.ensure_future(awaitable, loop=loop)
    try:
        return loop.run_until_complete(task)
    finally:
        try:
            finish_loop(loop)
        finally:
            sys.setrecursionlimit(limit)
            events.set_event_loop(None)


def stalled(loop):
    """The error of a loop that nothing can wake, with the place where its first task waits."""
    error = Stalled("the program waits for an event that nothing can trigger")
    waiting = sorted(tasks.all_tasks(loop), key=lambda t: (len(t.get_name()), t.get_name()))
    error.place = next(filter(None, map(waiting_at, waiting)), None)
    return error


def waiting_at(task):
    """Where in the program the innermost coroutine of a task waits."""
    place, coroutine = None, task.get_coro() if isinstance(task, asyncio.Task) else None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and own(frame.f_code.co_filename):
            place = place_in(frame.f_code, frame.f_lasti, frame.f_lineno)
        coroutine = getattr(coroutine, "cr_await", None)
    return place


def finish_loop(loop):
    calls = len(loop._selector.calls)
    if calls:
        print(f"{calls} tool call{'s' if calls > 1 else ''} still under way at the end: cancelled; "
              "await what was started", file=sys.stderr)
    try:
        asyncio.runners._cancel_all_tasks(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        look_at_tasks()
        loop.close()


def look_at_tasks():
    """Failed tasks whose exception was never retrieved."""
    for task in list(tasks._scheduled_tasks):
        if task.done() and not task.cancelled() and getattr(task, "_log_traceback", False):
            state.background.append(task.exception())


def close_left_over():
    """Tasks of loops that the program ran itself."""
    if len(tasks._scheduled_tasks):
        look_at_tasks()


def run(main, *, debug=None, loop_factory=None):
    """asyncio.run, which the program may also call where a loop is running: it mixes with top-level await."""
    outer = events._get_running_loop()
    if outer is None or not program_calls():
        return asyncio_run(main, debug=debug, loop_factory=loop_factory)
    task = tasks.current_task(outer)
    events._set_running_loop(None)
    if task is not None:
        tasks._leave_task(outer, task)
    try:
        return asyncio_run(main, debug=debug, loop_factory=loop_factory)
    finally:
        events._set_running_loop(outer)
        if task is not None:
            tasks._enter_task(outer, task)


asyncio_run = asyncio.run


CONVERTED = {
    first: ("create_task", "ensure_future", "wait_for", "shield"),
    many: ("wait", "as_completed"),
    gathered: ("gather",),
}


def install():
    asyncio.DefaultEventLoopPolicy = Policy
    asyncio.SelectorEventLoop = asyncio.EventLoop = Loop
    asyncio.set_event_loop_policy(Policy())
    asyncio.run = asyncio.runners.run = run
    asyncio.to_thread = asyncio.threads.to_thread = to_thread
    asyncio.TaskGroup.create_task = lenient(asyncio.TaskGroup.create_task, second)
    for converted, names in CONVERTED.items():
        for name in names:
            setattr(asyncio, name, lenient(getattr(asyncio, name), converted))


async def to_thread(func, /, *args, **kwargs):
    """Runs the function inline; a tool runs as a call in flight."""
    from . import tools

    if isinstance(func, tools.Tool):
        return await func.later(*args, **kwargs)
    return func(*args, **kwargs)
