result = 1 + 1
