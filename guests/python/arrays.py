"""Hints for programs that import numpy or pandas: what does the same with the standard library.

Each hint is a sentence and a short program over `rows`, a list of dicts, or `xs`, a list of
numbers. Names of columns are taken from the program where it spells them.
"""

import re

TEXT = r"""[\[(]\s*\[?\s*["'](\w+)["']"""

# For each package rows of what a program uses, a sentence, a program, and the names in it
# that the groups of the pattern replace.
USES = {
    "pandas": (
        (rf"\.groupby\(\s*\[?\s*[\"'](\w+)[\"'].*?\[\[?[\"'](\w+)[\"']\]\]?\.(sum|mean|max|min|count)\(", "group with a dict",
         "import statistics\ngroups = {}\nfor row in rows:\n    groups.setdefault(row['KEY'], []).append(row['VALUE'])\n"
         "result = {key: FUNCTION(values) for key, values in groups.items()}", ("KEY", "VALUE", "FUNCTION")),
        (rf"\.groupby{TEXT}", "group with a dict",
         "groups = {}\nfor row in rows:\n    groups.setdefault(row['KEY'], []).append(row)\n"
         "result = {key: len(members) for key, members in groups.items()}", ("KEY",)),
        (rf"(?:pd\.merge|\.merge|\.join)\(.*?\bon\s*=\s*[\"'](\w+)[\"']", "join with a dict by key",
         "right = {row['KEY']: row for row in others}\nresult = [{**row, **right[row['KEY']]} for row in rows if row['KEY'] in right]", ("KEY",)),
        (r"(?:pd\.merge|\.merge|\.join)\(", "join with a dict by key",
         "right = {row['id']: row for row in others}\nresult = [{**row, **right[row['id']]} for row in rows if row['id'] in right]", ()),
        (r"""pivot_table\(.*?index\s*=\s*["'](\w+)["'].*?columns\s*=\s*["'](\w+)["'].*?values\s*=\s*["'](\w+)["']""", "pivot with a dict of dicts",
         "result = {}\nfor row in rows:\n    line = result.setdefault(row['KEY'], {})\n"
         "    line[row['OTHER']] = line.get(row['OTHER'], 0) + row['VALUE']", ("KEY", "OTHER", "VALUE")),
        (r"""\[["'](\w+)["']\]\.value_counts\(""", "count with collections.Counter",
         "from collections import Counter\nresult = dict(Counter(row['KEY'] for row in rows).most_common())", ("KEY",)),
        (rf"\.sort_values\(\s*(?:by\s*=\s*)?\[?\s*[\"'](\w+)[\"'](?:.*?(ascending\s*=\s*False))?", "sort with sorted",
         "result = sorted(rows, key=lambda row: row['KEY'], reverse=REVERSE)", ("KEY", "REVERSE")),
        (r"\.read_csv\(", "read CSV with csv.DictReader; its values are text",
         "import csv, io\nrows = list(csv.DictReader(io.StringIO(text)))", ()),
        (r"\.describe\(|\.(?:mean|median|std|quantile)\(", "compute with statistics",
         "import statistics\nxs = [row['amount'] for row in rows]\nresult = {'mean': statistics.mean(xs), 'std': statistics.stdev(xs), 'median': statistics.median(xs)}", ()),
        (r"", "work on a list of dicts; an in-memory sqlite3 database can join and group",
         "result = [row for row in rows if row.get('amount') is not None]", ()),
    ),
    "numpy": (
        (r"\.percentile\(|\.quantile\(", "compute with statistics",
         "import statistics\nresult = statistics.quantiles(xs, n=100, method='inclusive')[95 - 1]  # the 95th percentile", ()),
        (r"\.corrcoef\(", "compute with statistics", "import statistics\nresult = statistics.correlation(xs, ys)", ()),
        (r"\.polyfit\(", "compute with statistics", "import statistics\nslope, intercept = statistics.linear_regression(xs, ys)\nresult = slope", ()),
        (r"\.histogram\(|\.bincount\(|\.unique\(", "count with collections.Counter",
         "from collections import Counter\nresult = dict(sorted(Counter(xs).items()))", ()),
        (r"\.dot\(|\.matmul\(|\w @ \w", "multiply with math.sumprod", "import math\nresult = math.sumprod(xs, ys)", ()),
        (r"\.cumsum\(", "add up with itertools.accumulate", "import itertools\nresult = list(itertools.accumulate(xs))", ()),
        (r"\.random\.", "use random", "import random\nrandom.seed(1)\nresult = [random.gauss(0, 1) for _ in range(10)]", ()),
        (r"\.linspace\(|\.arange\(", "use range and a list comprehension", "result = [0 + (1 - 0) * i / 10 for i in range(11)]", ()),
        (r"", "use statistics, math and list comprehensions; numpy's std is statistics.pstdev",
         "import statistics\nresult = [statistics.mean(xs), statistics.pstdev(xs), sum(xs), min(xs), max(xs)]", ()),
    ),
}
FUNCTIONS = {"mean": "statistics.mean", "count": "len"}


def instead(package, source):
    """The hint for a program that imports package."""
    for pattern, advice, program, names in USES[package]:
        found = re.search(pattern, source)
        if found is None:
            continue
        for name, given in zip(names, found.groups()):
            if name == "REVERSE":
                given = str(bool(given))
            program = program.replace(name, FUNCTIONS.get(given, given) if name == "FUNCTION" else given)
        return f"{package} is not available; {advice}:\n{program}"
    return ""
