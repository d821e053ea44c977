# Task: show where a calculation fails and go on
# Prints: 1 / n
import traceback

def ratio(n):
    return 1 / n

for n in (1, 0):
    try:
        print(ratio(n))
    except ZeroDivisionError:
        traceback.print_exc(file=__import__("sys").stdout)
