"""ToolError and PolicyError: the exceptions of calls."""


class CallError(Exception):
    """A call that failed."""

    def __init__(self, message="", *, code="tool.failed", tool="", hint="", rule=""):
        super().__init__(message)
        self.message, self.code, self.tool, self.hint, self.rule = message, code, tool, hint, rule

    def __reduce__(self):
        state = dict(code=self.code, tool=self.tool, hint=self.hint, rule=self.rule)
        return rebuild, (type(self), self.message, state)


def rebuild(kind, message, state):
    return kind(message, **state)


class ToolError(CallError):
    """A tool or its server failed: .code, .tool, .message, .hint."""


class PolicyError(CallError):
    """The policy denied a call: .code, .tool, .message, .rule, .hint."""


for _kind in (CallError, ToolError, PolicyError):
    _kind.__module__ = "builtins"


def from_answer(answer):
    """The exception of an error answer; the shim raises it."""
    if not isinstance(answer, dict):
        answer = {"message": str(answer)}

    def text(name):
        value = answer.get(name)
        return value if isinstance(value, str) else ""

    code = text("code") or "tool.failed"
    kind = PolicyError if code.startswith("denied.") else ToolError
    message = text("message") or code
    return kind(message, code=code, tool=text("tool"), hint=text("hint"), rule=text("rule"))


def with_bytes(items):
    """A content list with {"$bytes": …} converted to bytes."""
    import base64

    def walk(value, depth):
        if isinstance(value, dict):
            if len(value) == 1 and isinstance(value.get("$bytes"), str):
                try:
                    return base64.b64decode(value["$bytes"], validate=True)
                except ValueError:
                    return value
            return {k: walk(v, depth + 1) for k, v in value.items()} if depth < 100 else value
        if isinstance(value, list) and depth < 100:
            return [walk(v, depth + 1) for v in value]
        return value

    return walk(items, 0)


def denied_as(kind):
    """An exception type that except clauses for kind and for PolicyError catch."""

    class Denied(kind, PolicyError):
        def __init__(self, error):
            kind.__init__(self, error.message)
            self.__dict__.update(error.__dict__)

        def __str__(self):
            return self.message

        def __reduce__(self):
            return rebuild, (PolicyError, self.message, dict(code=self.code, tool=self.tool, hint=self.hint, rule=self.rule))

    Denied.__module__, Denied.__name__, Denied.__qualname__ = "builtins", "PolicyError", "PolicyError"
    return Denied
