# Task: zip two texts in memory and list the names
# Want: ["a.txt","b.txt"]
import io
import zipfile

buf = io.BytesIO()
with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a.txt", "A" * 100)
    z.writestr("b.txt", "B" * 100)
zipfile.ZipFile(buf).namelist()
