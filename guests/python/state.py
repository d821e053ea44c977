"""The state of the current run."""

input = {}         # the input document
file = "main.py"   # the program's name
source = ""        # its text
servers = []       # identifiers under which servers are reached
result = 0         # 0: the program has no result, 1: it returns, 2: its last expression
main = None        # the module __main__
background = []    # exceptions of tasks that were never retrieved
path = ""          # the standard library in sys.path
