let n = 0
for (let i = 0; i < 5; i++) n += (AWAIT call("large", {})).length
return n
