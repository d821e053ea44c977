from typing import Any, Callable, Iterable, Iterator, TypedDict

class ToolError(Exception):
    code: str
    tool: str | None
    message: str
    hint: str | None

class PolicyError(ToolError):
    rule: str | None

def search_tools(query: str, limit: int = ..., detail: str = ...) -> dict[str, Any]: ...
def describe_tool(name: str) -> dict[str, Any]: ...
def attempt(fn: Callable[[], Any], options: dict[str, Any] | None = ..., **keywords: Any) -> Any: ...
def settle(branches: Any) -> Any: ...
def pages(tool: Callable[..., Any], args: dict[str, Any] | None = ..., **keywords: Any) -> Iterator[Any]: ...
def map_limit(items: Iterable[Any], n: int, fn: Callable[[Any], Any]) -> list[Any]: ...

class Artifact(TypedDict):
    artifact: str
    name: str
    type: str
    bytes: int

class artifacts:
    @staticmethod
    def put(name: str, data: Any, options: dict[str, Any] | None = ..., *, type: str = ...) -> Artifact: ...
    @staticmethod
    def read(id: str | Artifact, options: dict[str, Any] | None = ..., *, from_: int = ..., lines: int = ..., match: str = ...) -> Any: ...

def progress(done: float, total: float = ..., text: str = ...) -> None: ...

