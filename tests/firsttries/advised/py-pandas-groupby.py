# Task: paid amount per customer with pandas
# Want: {"1":349.5,"4":1500.0,"7":75.75}
# Advice: sqlite3
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE orders (customer_id, amount)")
db.executemany("INSERT INTO orders VALUES (:customer_id, :amount)", tools.crm.list_orders(status="paid")["orders"])
dict(db.execute("SELECT customer_id, sum(amount) FROM orders GROUP BY customer_id").fetchall())
