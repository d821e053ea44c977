"""Pagination by the conventions of common servers.

What an answer names as the next cursor goes into the argument of the same
family; without one, page numbers count up while pages are full.
"""

CURSORS = (
    ("nextCursor", "cursor"), ("next_cursor", "cursor"), ("nextPageToken", "pageToken"),
    ("next_page_token", "page_token"), ("nextToken", "nextToken"), ("next_token", "next_token"),
    ("endCursor", "after"), ("end_cursor", "after"), ("cursor", "cursor"), ("continuation", "continuation"),
    ("nextPage", "page"), ("next_page", "page"),
)
PLACES = ("pageInfo", "page_info", "pagination", "paging", "meta", "response_metadata")
MORE = ("hasNextPage", "has_next_page", "has_more", "hasMore")
LISTS = ("items", "results", "data", "values", "records", "entries", "nodes", "rows")
SIZES = ("per_page", "perPage", "page_size", "pageSize", "limit")
LAST, UNSAID = object(), object()


def items_of(page):
    if isinstance(page, list):
        return page
    if not isinstance(page, dict):
        return []
    for name in LISTS:
        if isinstance(page.get(name), list):
            return page[name]
    return next((v for v in page.values() if isinstance(v, list)), [])


def cursor_of(page):
    """(argument, value) of the next page, LAST, or UNSAID."""
    if not isinstance(page, dict):
        return UNSAID
    for part in (page, *map(page.get, PLACES)):
        if not isinstance(part, dict):
            continue
        if any(part.get(name) is False for name in MORE):
            return LAST
        for name, argument in CURSORS:
            value = part.get(name)
            if value and isinstance(value, (str, int)) and not isinstance(value, bool):
                return argument, value
    return UNSAID


class Walk:
    """The sequence of requests that reads all pages."""

    def __init__(self, given, max_items, max_pages):
        self.given, self.max_items, self.left = given, max_items, max_pages
        self.request = dict(given) if max_pages > 0 else None
        self.count = 0
        self.first = None
        size = next((given[n] for n in SIZES if isinstance(given.get(n), int)), 0)
        self.size = size if size > 0 else 0

    def items(self, page):
        """The items of a page; sets the request of the next one, or None."""
        items = items_of(page)
        cursor = cursor_of(page)
        self.left -= 1
        if self.first is None:
            self.first = len(items)
        if self.max_items is not None:
            items = items[:self.max_items - self.count]
        self.count += len(items)
        self.request = self.next_request(cursor, len(items))
        return items

    def next_request(self, cursor, count):
        full = self.max_items is not None and self.count >= self.max_items
        if cursor is LAST or not count or full or self.left <= 0:
            return None
        if cursor is not UNSAID:
            argument, value = cursor
            return None if self.request.get(argument) == value else {**self.request, argument: value}
        if "page" not in self.given and not self.size:
            return None
        if count < (self.size or self.first):
            return None
        return {**self.request, "page": int(self.request.get("page", 1)) + 1}
