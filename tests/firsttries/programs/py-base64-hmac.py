# Task: base64 of an HMAC
# Want: "uC/LeRrOxXhZuYm0MKgmSIzi5Hn9+SMmvQoug3WkK6Q="
import base64
import hashlib
import hmac

base64.b64encode(hmac.new(b"secret", b"payload", hashlib.sha256).digest()).decode()
