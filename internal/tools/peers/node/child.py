# Runs one program: python3 child.py FILE. The protocol is that of child.mjs.
import sys, time


def hostCall(name, json):
    sys.stdout.write(name + "\t" + json + "\n")
    sys.stdout.flush()
    return sys.stdin.readline()


names = {"hostCall": hostCall, "__name__": "__main__"}
program = open(sys.argv[1]).read()
begun = time.perf_counter()
exec(compile(program, "program", "exec"), names)
took = (time.perf_counter() - begun) * 1000
sys.stdout.write("=\t%f\t%s\n" % (took, names["result"]))
sys.stdout.flush()
sys.stdin.readline()
