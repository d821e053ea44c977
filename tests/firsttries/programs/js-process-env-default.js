// Task: greet the user, named by the variable GREETING_NAME or "world"
// Want: "hello world"
const name = process.env.GREETING_NAME || "world";
return `hello ${name}`;
