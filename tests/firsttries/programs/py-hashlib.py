# Task: sha256 of "hello"
# Want: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
import hashlib

hashlib.sha256("hello".encode()).hexdigest()
