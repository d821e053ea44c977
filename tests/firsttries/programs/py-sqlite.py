# Task: join customers and orders with SQL
# Want: [["Delta Inc",1500.0],["Acme GmbH",349.5]]
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE customers (id INTEGER, name TEXT)")
db.execute("CREATE TABLE orders (customer_id INTEGER, amount REAL, status TEXT)")
db.executemany("INSERT INTO customers VALUES (:id, :name)", tools.crm.list_customers(limit=100)["customers"])
db.executemany("INSERT INTO orders VALUES (:customer_id, :amount, :status)", tools.crm.list_orders()["orders"])
rows = db.execute(
    """SELECT name, SUM(amount) AS paid FROM orders JOIN customers ON id = customer_id
       WHERE status = 'paid' GROUP BY name ORDER BY paid DESC LIMIT 2"""
).fetchall()
[list(r) for r in rows]
