# Task: greet the user named by the variable GREETING_NAME or "world"
# Want: "hello world"
import os

f"hello {os.environ.get('GREETING_NAME', 'world')}"
