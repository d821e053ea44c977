// Task: decode a base64 token's payload
// Want: {"sub":"42","admin":false}
const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiIsImFkbWluIjpmYWxzZX0.x";
const payload = JSON.parse(atob(token.split(".")[1]));
return payload;
