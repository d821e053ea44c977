// Sentence: grants
// Task: is a new id 36 characters long?
// Want: true
const { v4: uuidv4 } = require("uuid");
return uuidv4().length === 36;
