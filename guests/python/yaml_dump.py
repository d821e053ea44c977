"""The writing part of yaml: safe_dump and safe_dump_all."""

import datetime
import math
import re

from . import subsets, yaml
from .yaml import YAMLError, resolved


def scalar(value, options):
    """A scalar as PyYAML writes it, or None for another value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case float():
            if not math.isfinite(value):
                return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
            text = float.__repr__(value)
            return text if "." in text or "e" not in text else text.replace("e", ".0e")
        case datetime.datetime():
            return value.isoformat(" ")
        case datetime.date():
            return value.isoformat()
        case str():
            return quoted(value, options["allow_unicode"], options["default_flow_style"])


def quoted(text, unicode, flow):
    if not text.isprintable() or not unicode and not text.isascii():
        out = "".join({"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}.get(c) or (
            c if c.isprintable() and (unicode or c.isascii()) else f"\\x{ord(c):02X}" if ord(c) < 256 else
            f"\\u{ord(c):04X}" if ord(c) < 65536 else f"\\U{ord(c):08X}") for c in text)
        return f'"{out}"'
    special = (resolved(text) != text or text[0] in " -?:,[]{}#&*!|>'\"%@`=" and not re.match(r"[-?:][^\s,\[\]{}]", text)
               or text[-1] in " :" or ": " in text or " #" in text or text == "<<" or flow and re.search(r"[,\[\]{}?:]", text))
    return "'" + text.replace("'", "''") + "'" if special else text


def pairs_of(value, options):
    try:
        return sorted(value.items()) if options["sort_keys"] else value.items()
    except TypeError:
        return value.items()


def blocks(value, options, depth, open_now):
    """The lines of a collection."""
    if id(value) in open_now:
        raise YAMLError("the value contains itself")
    open_now = open_now | {id(value)}
    pad = " " * (options["indent"] * depth)
    if isinstance(value, dict):
        for key, inner in pairs_of(value, options):
            head = f"{pad}{one(key, options)}:"
            short = one(inner, options)
            if short is not None:
                yield f"{head} {short}"
            else:
                yield head
                yield from blocks(inner, options, depth + isinstance(inner, dict), open_now)
        return
    for inner in value:
        short = one(inner, options)
        if short is not None:
            yield f"{pad}- {short}"
        else:
            lines = blocks(inner, options | {"indent": 2}, 0, open_now)
            yield f"{pad}- {next(lines)}"
            yield from (f"{pad}  {line}" for line in lines)


def one(value, options):
    """A value on one line, or None for a collection in block style."""
    text = scalar(value, options)
    if text is not None:
        return text
    if isinstance(value, (dict, list, tuple)):
        if value and not options["default_flow_style"]:
            return None
        if isinstance(value, dict):
            return "{" + ", ".join(f"{one(k, options)}: {one(v, options)}" for k, v in pairs_of(value, options)) + "}"
        return "[" + ", ".join(one(v, options) for v in value) + "]"
    raise YAMLError(f"cannot represent a {type(value).__name__}: {value!r:.60}")


def safe_dump_all(documents, stream=None, Dumper=None, *, default_flow_style=False, sort_keys=True, indent=2, allow_unicode=False,
                  explicit_start=False, width=None, **ignored):
    """The YAML text of documents; it is not folded at a width."""
    options = {"default_flow_style": default_flow_style, "sort_keys": sort_keys, "indent": indent or 2, "allow_unicode": allow_unicode}
    texts = []
    for value in documents:
        short = one(value, options)
        text = "\n".join(blocks(value, options, 0, frozenset())) if short is None else short
        if short is not None and not isinstance(value, (dict, list, tuple)) and text[0] not in "'\"":
            text += "\n..."
        texts.append(text + "\n")
    whole = ("---\n" if explicit_start else "") + "---\n".join(texts)
    if stream is None:
        return whole
    stream.write(whole)


def safe_dump(data, stream=None, Dumper=None, **options):
    """The YAML text of a value, written to stream if there is one."""
    return safe_dump_all([data], stream, **options)


dump, dump_all = safe_dump, safe_dump_all


def install():
    """The module yaml, unless a package has it."""
    public = {name: value for name, value in vars(yaml).items() if name.startswith(("safe_", "load", "full_")) or name.endswith(("Loader", "Dumper", "Error"))}
    subsets.add("yaml", **public, safe_dump=safe_dump, safe_dump_all=safe_dump_all, dump=dump, dump_all=dump_all, __version__="0")
    YAMLError.__module__ = "yaml"
