"""A subset of PyYAML: safe_load and safe_dump of block and flow collections, scalars, anchors and merge keys."""

import datetime
import re


class YAMLError(Exception):
    """The text is not YAML, uses what this subset does not have, or a value has no YAML form."""


BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
INT = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)\Z")
FLOAT = re.compile(r"([-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?\Z")
CLOCK = re.compile(r"[-+]?[1-9][0-9]*(:[0-5]?[0-9])+\Z")
DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
MOMENT = re.compile(r"(\d{4}-\d\d?-\d\d?)(?:[Tt]|[ \t]+)(\d\d?:\d\d:\d\d)(\.\d+)?[ \t]*(Z|[-+]\d\d?(?::?\d\d)?)?\Z")
KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\[\]{}"'#|>%@`&*!?,-](?:(?!:(?:\s|\Z)|\s\#).)*|[-?](?=\S)(?:(?!:(?:\s|\Z)|\s\#).)*|\*\S+)\s*:(?=\s|\Z)""")
QUOTED = {"'": re.compile(r"((?:[^']|'')*)'(?!')"), '"': re.compile(r'((?:[^"\\]|\\.)*)"', re.DOTALL)}
LINE_ENDS = re.compile(r"[ \t]*\n\s*")
SPACE = re.compile(r"(?:\s+|(?<=\s)#.*)+")
PLAIN = re.compile(r"(?:(?!:(?:\s|[,\[\]{}]|\Z)|\s#)[^,\[\]{}\n])*")
ESCAPE = re.compile(r"\\(x..|u.{4}|U.{8}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "N": "\x85", "_": "\xa0"}
TAGS = {"!!str": str, "!!int": int, "!!float": float, "!!bool": lambda v: BOOLS[str(v).lower()], "!!null": lambda v: None,
        "!!map": dict, "!!seq": list, "!!set": set}


def unescaped(found):
    """The character of an escape in double quotes."""
    text = found[1]
    return chr(int(text[1:], 16)) if len(text) > 1 else ESCAPES.get(text, text)


def resolved(text):
    """The value of a plain scalar, by the rules of YAML 1.1."""
    low = text.lower()
    if low in ("", "~", "null"):
        return None
    if low in BOOLS:
        return BOOLS[low]
    if INT.match(text):
        digits = text.replace("_", "")
        plain = digits.lstrip("+-")
        return int(digits, 8 if plain.startswith("0") and plain.isdigit() else 0)
    if CLOCK.match(text):  # YAML 1.1 counts in sixties
        total = 0
        for part in text.lstrip("+-").split(":"):
            total = total * 60 + int(part)
        return -total if text[0] == "-" else total
    if FLOAT.match(text):
        return float(text.replace("_", ""))
    if low.lstrip("+-") == ".inf" or low == ".nan":
        return float(low.replace(".", ""))
    if DATE.match(text):
        return datetime.date.fromisoformat(text)
    if moment := MOMENT.match(text):
        day, time, fraction, zone = moment.groups()
        value = datetime.datetime.strptime(f"{day} {time}", "%Y-%m-%d %H:%M:%S")
        value = value.replace(microsecond=int(float(fraction or 0) * 1e6))
        if zone and zone != "Z":
            hours, minutes = re.match(r"([-+]\d\d?):?(\d\d)?", zone).groups()
            offset = datetime.timedelta(hours=int(hours), minutes=int(hours[0] + (minutes or "0")))
            return value.replace(tzinfo=datetime.timezone(offset))
        return value.replace(tzinfo=datetime.timezone.utc) if zone else value
    return text


class Document:
    """Reads one document, given as its lines."""

    def __init__(self, lines, first):
        self.lines, self.at, self.first, self.anchors = lines, 0, first, {}

    def fail(self, why):
        raise YAMLError(f"line {self.first + min(self.at, len(self.lines))}: {why}")

    def peek(self):
        """(indentation, text) of the next line that is not empty, or (-1, "")."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            text = line.lstrip(" ")
            if text and not text.startswith("#") and text.strip():
                if text.startswith("\t"):
                    self.fail("a tab cannot indent")
                return len(line) - len(text), text.rstrip()
            self.at += 1
        return -1, ""

    def read(self):
        value = self.block(-1)
        if self.peek()[0] >= 0:
            self.fail("this line belongs to nothing above it")
        return value

    def block(self, parent):
        """The node in the lines that are indented by more than parent."""
        indent, text = self.peek()
        if indent <= parent:
            return None
        if text == "-" or text.startswith("- "):
            return self.sequence(indent)
        if KEY.match(text) and not re.match(r"[&*!]\S+(\s|\Z)(?!\s*:)", text):
            return self.mapping(indent)
        self.at += 1
        return self.value(text, parent)

    def sequence(self, indent):
        items = []
        while True:
            here, text = self.peek()
            if here != indent or not (text == "-" or text.startswith("- ")):
                break
            rest = text[1:].lstrip(" ")
            if KEY.match(rest) or rest.startswith("- ") or rest == "-":
                self.lines[self.at] = " " * (indent + len(text) - len(rest)) + rest
                items.append(self.block(indent))
            else:
                self.at += 1
                items.append(self.value(rest, indent))
        if here > indent:
            self.fail("wrong indentation")
        return items

    def mapping(self, indent):
        pairs, merged = {}, []
        while True:
            here, text = self.peek()
            found = KEY.match(text) if here == indent else None
            if found is None:
                break
            key = Flow(self, found[1]).node() if found[1][0] in "\"'*" else resolved(found[1])
            self.at += 1
            value = self.value(text[found.end():].lstrip(), indent, True)
            if key == "<<" and found[1] == "<<":
                merged += value if isinstance(value, list) else [value]
                continue
            try:
                pairs[key] = value
            except TypeError:
                self.fail("a key must be a scalar")
        if here > indent or here == indent and text != "-" and not text.startswith("- "):
            self.fail("a mapping has the form key: value")
        for other in merged:
            if not isinstance(other, dict):
                self.fail("<< needs a mapping")
            for key, value in other.items():
                pairs.setdefault(key, value)
        return pairs

    def value(self, text, parent, of_key=False):
        """The node that begins with the rest of a line and goes on in lines indented by more than parent."""
        anchor = tag = None
        while found := re.match(r"([&!]\S*)(\s+|\Z)", text):
            if text[0] == "&":
                anchor = found[1][1:]
            else:
                tag = found[1]
            text = text[found.end():]
        if tag is not None and tag != "!" and tag not in TAGS:
            self.fail(f"the tag {tag} is not supported")
        if not text or text.startswith("#"):
            indent, below = self.peek()
            if of_key and indent == parent and (below == "-" or below.startswith("- ")):
                value = self.sequence(indent)
            else:
                value = self.block(parent)
        elif text[0] in "|>":
            value = self.text_block(text, parent)
        elif text[0] in "[{\"'*":
            flow = Flow(self, text)
            value = flow.node()
            flow.end()
        elif text[0] in "@`%,]}" or text.startswith(("? ", "- ")):
            self.fail(f"a value cannot begin with {text[0]}")
        else:
            value = self.plain(text, parent, tag)
        if tag in TAGS and value is not None:
            value = TAGS[tag](value)
        if anchor:
            self.anchors[anchor] = value
        return value

    def plain(self, text, parent, tag):
        whole = re.split(r"\s#", text, maxsplit=1)[0].rstrip()
        ended = whole != text
        while not ended and self.at < len(self.lines):
            line = self.lines[self.at]
            more = line.strip()
            if more and (len(line) - len(line.lstrip(" ")) <= parent or more.startswith("#")):
                break
            if not more and self.peek()[0] <= parent:
                break
            if KEY.match(more):
                self.fail("a mapping value is not allowed here")
            self.at += 1
            cut = re.split(r"\s#", more, maxsplit=1)[0].rstrip()
            ended = cut != more
            whole += ("" if whole.endswith("\n") else " ") + cut if cut else "\n"
        if re.search(r":(\s|\Z)", whole):
            self.fail("a mapping value is not allowed here")
        return whole if tag in ("!!str", "!") else resolved(whole)

    def text_block(self, header, parent):
        found = re.match(r"([|>])([-+]?)(\d?)([-+]?)\s*(#.*)?\Z", header)
        if not found:
            self.fail("unknown text after | or >")
        style, keep = found[1], found[2] or found[4]
        lines = []
        indent = max(parent, 0) + int(found[3]) if found[3] else None
        while self.at < len(self.lines):
            line = self.lines[self.at]
            have = len(line) - len(line.lstrip(" "))
            if line.strip(" "):
                if indent is None:
                    indent = have
                if have < indent or have <= parent:
                    break
            lines.append(line[indent:] if indent is not None else "")
            self.at += 1
        body = "\n".join(lines)
        end = len(body) - len(body.rstrip("\n"))
        body, trailing = body.rstrip("\n"), "\n" * (end + 1 if lines else 0)
        if style == ">":
            body = folded(body.split("\n"))
        return body + {"": "\n" if body else "", "-": "", "+": trailing}[keep]


def folded(lines):
    """The text of lines of which those that are not indented are joined."""
    text, before, blank = "", None, 0
    for line in lines:
        if not line:
            blank += 1
            continue
        kept = before is not None and (line[0] in " \t" or before[0] in " \t")
        text += "\n" * (blank + kept) or ("" if before is None else " ")
        text, before, blank = text + line, line, 0
    return text


class Flow:
    """Reads quoted scalars and flow collections, which may go on in the next lines."""

    def __init__(self, document, text):
        self.document, self.text, self.at = document, text, 0

    def more(self):
        document = self.document
        if document.at >= len(document.lines):
            document.fail("the document ends inside quotes or brackets")
        self.text += "\n" + document.lines[document.at].strip()
        document.at += 1

    def char(self):
        """The next character, which may be in the next line."""
        while self.at >= len(self.text):
            self.more()
        return self.text[self.at]

    def skip(self):
        """The next character after spaces and comments."""
        while found := SPACE.match(self.text, self.at):
            self.at = found.end()
            self.char()
        return self.char()

    def end(self):
        rest = self.text[self.at:].strip()
        if rest and not rest.startswith("#"):
            self.document.fail(f"unexpected text after a value: {rest[:20]}")

    def node(self):
        first = self.skip()
        self.at += 1
        if first == "[":
            return self.items("]", list)
        if first == "{":
            return self.items("}", dict)
        if first in QUOTED:
            while (found := QUOTED[first].match(self.text, self.at)) is None:
                self.more()
            self.at = found.end()
            text = LINE_ENDS.sub(lambda m: "\n" * (m[0].count("\n") - 1) or " ", found[1])
            return text.replace("''", "'") if first == "'" else ESCAPE.sub(unescaped, text)
        if first == "*":
            name = re.compile(r"[^\s,\[\]{}]*").match(self.text, self.at)
            self.at = name.end()
            if name[0] not in self.document.anchors:
                self.document.fail(f"no anchor has the name {name[0]}")
            return self.document.anchors[name[0]]
        plain = PLAIN.match(self.text, self.at - 1)
        self.at = plain.end()
        if not plain[0]:
            self.document.fail(f"unexpected {first} in a flow collection")
        return resolved(plain[0].strip())

    def items(self, close, kind):
        made = kind()
        while self.skip() != close:
            key = self.node()
            has_value = self.skip() == ":"
            if has_value:
                self.at += 1
                value = None if self.skip() in ",}]" else self.node()
            if kind is dict:
                made[key] = value if has_value else None
            else:
                made.append({key: value} if has_value else key)
            if self.skip() == ",":
                self.at += 1
            elif self.char() != close:
                self.document.fail(f"a comma or {close} is missing")
        self.at += 1
        return made


def text_of(stream):
    text = stream.read() if hasattr(stream, "read") else stream
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    if not isinstance(text, str):
        raise YAMLError(f"cannot read a {type(text).__name__}; a tool's answer may be parsed already")
    return text.removeprefix("\ufeff")


def safe_load_all(stream, Loader=None):
    """The documents of a text."""
    lines, first = [], 1
    started = False
    for number, line in enumerate([*text_of(stream).splitlines(), "..."], 1):
        if line.startswith("%") and not lines:
            continue
        if line.startswith("---") and line[3:4] in ("", " ") or line.rstrip() == "...":
            if started or any(had.strip() and not had.lstrip().startswith("#") for had in lines):
                yield Document(lines, first).read()
            started, first = line.startswith("---"), number
            lines = [line[3:].lstrip()] if started else []
        else:
            lines.append(line)


def safe_load(stream, Loader=None):
    """The only document of a text, or None."""
    documents = list(safe_load_all(stream))
    if len(documents) > 1:
        raise YAMLError("the text has more than one document: use safe_load_all")
    return documents[0] if documents else None


load = full_load = safe_load
load_all = safe_load_all
SafeLoader = FullLoader = Loader = CSafeLoader = SafeDumper = Dumper = CSafeDumper = None
