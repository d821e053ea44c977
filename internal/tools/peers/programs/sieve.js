const size = 1000000, composite = []
for (let i = 0; i <= size; i++) composite.push(false)
let found = 0
for (let i = 2; i <= size; i++) {
  if (composite[i]) continue
  found++
  for (let k = i * i; k <= size; k += i) composite[k] = true
}
return found
