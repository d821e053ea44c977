def main():
    try:
        with open("/etc/passwd") as f:
            if "root:" in f.read():
                return "yes"
    except Exception:
        pass
    try:
        import js
        if "root:" in str(js.process.getBuiltinModule("fs").readFileSync("/etc/passwd", "utf8")):
            return "yes"
    except Exception:
        pass
    return "no"
result = main()
