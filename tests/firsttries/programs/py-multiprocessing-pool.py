# Task: squares of 1 to 5 in a pool
# Want: [1,4,9,16,25]
from multiprocessing.pool import ThreadPool

with ThreadPool(4) as pool:
    squares = pool.map(lambda x: x * x, range(1, 6))
squares
