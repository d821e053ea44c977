"""Threads and pools of workers: functions run inline, when they are started."""

import _thread
import concurrent.futures
import queue
import sys
import threading
import types

from .dropins import InlineExecutor

CALL_A_TOOL = "processes are not available: call a tool (from tools import …), or write it in Python"


def start(thread):
    """Thread.start: runs the thread's function to its end."""
    if thread._started.is_set():
        raise RuntimeError("threads can only be started once")
    ident = _thread.get_ident()
    outer = threading._active.get(ident)
    thread._ident = ident
    thread._started.set()
    threading._active[ident] = thread
    try:
        thread.run()
    except SystemExit:
        pass
    except Exception as error:
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
    finally:
        thread._ended = True
        threading._active[ident] = outer


def join(thread, timeout=None):
    if not thread._started.is_set():
        raise RuntimeError("cannot join thread before it is started")


def is_alive(thread):
    return thread._started.is_set() and not getattr(thread, "_ended", False)


class Process(threading.Thread):
    """multiprocessing.Process, inline and in the memory of the program."""

    exitcode = property(lambda self: None if not getattr(self, "_ended", False) else 0)
    pid = property(lambda self: 1)

    def terminate(self):
        pass

    kill = close = terminate


class AsyncResult:
    """The result of apply_async and map_async."""

    def __init__(self, futures, single, callback, error_callback):
        self._futures, self._single = futures, single
        try:
            value = self.get()
        except Exception as error:
            if error_callback:
                error_callback(error)
        else:
            if callback:
                callback(value)

    def get(self, timeout=None):
        values = [f.result(timeout) for f in self._futures]
        return values[0] if self._single else values

    def wait(self, timeout=None):
        concurrent.futures.wait(self._futures, timeout)

    def ready(self):
        return all(f.done() for f in self._futures)

    def successful(self):
        return all(f.exception() is None for f in self._futures)


class Pool:
    """multiprocessing.Pool and ThreadPool over the inline executor."""

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None):
        self._executor = InlineExecutor(processes, "", initializer, initargs)

    def apply(self, func, args=(), kwds={}):
        return self._executor.submit(func, *args, **kwds).result()

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return AsyncResult([self._executor.submit(func, *args, **kwds)], True, callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self.starmap_async(func, ((one,) for one in iterable), chunksize, callback, error_callback)

    def imap(self, func, iterable, chunksize=None):
        return iter(self.map(func, iterable))

    imap_unordered = imap

    def starmap(self, func, iterable, chunksize=None):
        return self.starmap_async(func, iterable).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return AsyncResult([self._executor.submit(func, *args) for args in iterable], False, callback, error_callback)

    def close(self):
        self._executor.shutdown()

    terminate = close

    def join(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def absent(module):
    """A module's __getattr__ that explains what is missing."""

    def missing(name):
        error = AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        error.hint = CALL_A_TOOL
        raise error

    return missing


def module(name, **names):
    made = types.ModuleType(name, __doc__)
    made.__dict__.update(names, __path__=[], __getattr__=absent(name))
    sys.modules[name] = made
    return made


def install():
    threading.Thread.start, threading.Thread.join, threading.Thread.is_alive = start, join, is_alive
    common = dict(Pool=Pool, Lock=threading.Lock, RLock=threading.RLock, Queue=queue.Queue, cpu_count=lambda: 1)
    pool = module("multiprocessing.pool", Pool=Pool, ThreadPool=Pool, AsyncResult=AsyncResult)
    dummy = module("multiprocessing.dummy", Process=threading.Thread, **common)
    module("multiprocessing", pool=pool, dummy=dummy, Process=Process, JoinableQueue=queue.Queue, SimpleQueue=queue.SimpleQueue,
           Event=threading.Event, Semaphore=threading.Semaphore, current_process=threading.current_thread,
           freeze_support=lambda: None, set_start_method=lambda *args, **kwargs: None, **common)
