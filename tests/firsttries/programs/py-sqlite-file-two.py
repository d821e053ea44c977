# Task: keep the orders in a database file and read them with a second connection
# Want: true
import sqlite3
from contextlib import closing

orders = tools.crm.list_orders()["orders"]
with closing(sqlite3.connect("/tmp/orders.db")) as db:
    with db:
        db.execute("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount REAL, status TEXT)")
        db.executemany("INSERT OR REPLACE INTO orders VALUES (:id, :amount, :status)", orders)

with closing(sqlite3.connect("/tmp/orders.db")) as db:
    db.row_factory = sqlite3.Row
    rows = db.execute("SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC").fetchall()
    counts = {row["status"]: row["n"] for row in rows}

sum(counts.values()) == len(orders)
