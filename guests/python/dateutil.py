"""A subset of dateutil: relativedelta, parser.parse, parser.isoparse and tz."""

import calendar
import datetime
import re
import zoneinfo

from . import subsets

UNITS = ("years", "months", "days", "hours", "minutes", "seconds", "microseconds")
FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond")
MONTHS = {name.lower()[:3]: number for number, name in enumerate(calendar.month_name) if number}


class relativedelta:
    """Years, months and smaller units to add to a date, and fields to replace in it."""

    def __init__(self, dt1=None, dt2=None, *, weeks=0, weekday=None, **parts):
        self.weekday = weekday
        for name in UNITS:
            setattr(self, name, parts.pop(name, 0))
        for name in FIELDS:
            setattr(self, name, parts.pop(name, None))
        if parts:
            raise TypeError(f"relativedelta has no {next(iter(parts))!r} in this sandbox")
        self.days += 7 * weeks
        if dt1 is not None:
            self.between(dt1, dt2)
        self.normalize()

    def between(self, later, earlier):
        if not isinstance(later, datetime.datetime) or not isinstance(earlier, datetime.datetime):
            later, earlier = (datetime.datetime.combine(d, datetime.time()) if type(d) is datetime.date else d for d in (later, earlier))
        sign = 1 if later >= earlier else -1
        months = (later.year - earlier.year) * 12 + later.month - earlier.month
        while (later < shifted(earlier, months)) if sign > 0 else (later > shifted(earlier, months)):
            months -= sign
        rest = later - shifted(earlier, months)
        self.months, self.microseconds = months, round(rest / datetime.timedelta(microseconds=1))

    def normalize(self):
        """Carries what is more than a unit over to the next, with the sign of the value."""
        for small, large, size in (("microseconds", "seconds", 10**6), ("seconds", "minutes", 60), ("minutes", "hours", 60),
                                   ("hours", "days", 24), ("months", "years", 12)):
            value = getattr(self, small)
            over = abs(value) // size * (1 if value > 0 else -1)
            setattr(self, small, value - over * size)
            setattr(self, large, getattr(self, large) + over)

    @property
    def weeks(self):
        return int(self.days / 7)

    def __radd__(self, date):
        fields = {name: getattr(self, name) for name in FIELDS if getattr(self, name) is not None}
        months = self.years * 12 + self.months
        day = min(fields.pop("day", date.day), 31)
        year, month = divmod(fields.pop("year", date.year) * 12 + fields.pop("month", date.month) - 1 + months, 12)
        date = date.replace(year=year, month=month + 1, day=min(day, calendar.monthrange(year, month + 1)[1]), **fields)
        date += datetime.timedelta(**{name: getattr(self, name) for name in UNITS[2:] if getattr(self, name)})
        if self.weekday is not None:
            number, nth = self.weekday.weekday, self.weekday.n or 1
            step = (number - date.weekday()) % 7 if nth > 0 else -((date.weekday() - number) % 7)
            date += datetime.timedelta(days=step + 7 * (nth - 1 if nth > 0 else nth + 1))
        return date

    def __rsub__(self, date):
        return date + -self

    def __add__(self, other):
        if not isinstance(other, relativedelta):
            return NotImplemented if not hasattr(other, "year") else other + self
        return relativedelta(**{n: getattr(self, n) + getattr(other, n) for n in UNITS}, weekday=other.weekday or self.weekday,
                             **{n: b if (b := getattr(other, n)) is not None else getattr(self, n) for n in FIELDS})

    def __sub__(self, other):
        return self + -other

    def __mul__(self, factor):
        return relativedelta(**{n: int(getattr(self, n) * factor) for n in UNITS}, weekday=self.weekday,
                             **{n: getattr(self, n) for n in FIELDS})

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __eq__(self, other):
        return isinstance(other, relativedelta) and vars(self) == vars(other)

    def __bool__(self):
        return any(v for v in vars(self).values())

    def __repr__(self):
        parts = [f"{n}={getattr(self, n):+d}" for n in UNITS if getattr(self, n)]
        parts += [f"{n}={getattr(self, n)!r}" for n in (*FIELDS, "weekday") if getattr(self, n) is not None]
        return f"relativedelta({', '.join(parts)})"


def shifted(date, months):
    return date + relativedelta(months=months)


class Weekday:
    """A day of the week, and which one: FR(-1) is the last Friday."""

    def __init__(self, weekday, n=None):
        self.weekday, self.n = weekday, n

    def __call__(self, n):
        return Weekday(self.weekday, n)

    def __repr__(self):
        return "MO TU WE TH FR SA SU".split()[self.weekday] + (f"({self.n:+d})" if self.n else "")


class ParserError(ValueError):
    """The text is not a date of a form that this subset knows."""


CLOCK = re.compile(r"(?:[T ]|\b)(\d{1,2})(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,6})\d*)?)?\s*([ap]m)?|\s*([ap]m))\s*(z|utc|gmt|[-+]\d\d:?(?:\d\d)?)?\s*\Z", re.IGNORECASE)
DATES = (
    (re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?"), "ymd"), (re.compile(r"(\d{4})(\d\d)(\d\d)"), "ymd"),
    (re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d\d)"), "mdy"),
    (re.compile(r"([a-z]{3})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?"), "mdy"),
    (re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?([a-z]{3})[a-z]*\.?[\s,-]*(\d{4})?"), "dmy"),
    (re.compile(r"([a-z]{3})[a-z]*\.?\s+(\d{4})"), "my"),
)


def parse(text, default=None, *, dayfirst=False, **ignored):
    """The datetime of a text: ISO 8601, 3/4/2026, 4 March 2026, Mar 4, 2026 10:30 PM and the like."""
    base = default or datetime.datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
    rest, found = text.strip(), {}
    if clock := CLOCK.search(rest) if ":" in rest or re.search(r"\d\s*[ap]m\b", rest, re.IGNORECASE) else None:
        hour, minute, second, fraction, half, bare, zone = clock.groups()
        hour, half = int(hour), (half or bare or "").lower()
        found = {"hour": hour % 12 + 12 * (half == "pm") if half else hour, "minute": int(minute or 0), "second": int(second or 0),
                 "microsecond": int((fraction or "0").ljust(6, "0"))}
        if zone:
            found["tzinfo"] = datetime.datetime.strptime(zone if len(zone) > 3 else zone + "00", "%z").tzinfo if zone[0] in "+-" else UTC
        rest = rest[:clock.start()].strip(" ,").removesuffix(" at")
    rest = re.sub(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s*", "", rest.strip(" ,").lower())
    for pattern, order in DATES if rest else ():
        if match := pattern.fullmatch(rest):
            if order == "mdy" and match[1].isdigit() and (dayfirst and int(match[2]) <= 12 or int(match[1]) > 12):
                order = "dmy"
            for name, part in zip(order, match.groups()):
                if part:
                    number = MONTHS.get(part[:3], 0) if part[0].isalpha() else int(part)
                    found[{"y": "year", "m": "month", "d": "day"}[name]] = number + (2000 if number < 69 else 1900) * (name == "y" and number < 100)
            break
    else:
        if rest or not found:
            raise ParserError(f"Unknown string format: {text}")
    try:
        return base.replace(**found)
    except ValueError as error:
        raise ParserError(f"{error}: {text}") from None


def gettz(name=None):
    """The zone with a name, or None if there is none."""
    try:
        return zoneinfo.ZoneInfo(name) if name else UTC
    except zoneinfo.ZoneInfoNotFoundError:
        return None


UTC = datetime.timezone.utc


def install():
    """The modules dateutil, dateutil.parser, dateutil.relativedelta and dateutil.tz, unless a package has them."""
    days = {name: Weekday(number) for number, name in enumerate("MO TU WE TH FR SA SU".split())}
    parser = {"parse": parse, "isoparse": parse, "ParserError": ParserError}
    zones = {"UTC": UTC, "gettz": gettz, "tzutc": lambda: UTC, "tzlocal": lambda: UTC,
             "tzoffset": lambda name, offset: datetime.timezone(datetime.timedelta(seconds=offset), name)}
    subsets.add("dateutil", __path__=[], __version__="0")
    subsets.add("dateutil.parser", **parser)
    subsets.add("dateutil.relativedelta", relativedelta=relativedelta, weekday=Weekday, **days)
    subsets.add("dateutil.tz", **zones)
