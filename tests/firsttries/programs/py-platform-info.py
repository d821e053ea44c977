# Task: which Python runs the code
# Prints: CPython 3.13
import platform
import sys

print(platform.python_implementation(), platform.python_version())
print(platform.platform(), platform.machine(), platform.processor(), sys.platform)
