// Task: is a new id 36 characters long?
// Want: true
// Advice: crypto.randomUUID()
return crypto.randomUUID().length === 36;
