# Sentence: servers
# Task: how many customers are there?
# Want: 7
from tools import postgres
postgres.query(sql="SELECT count(*) AS n FROM customers")[0]["n"]
