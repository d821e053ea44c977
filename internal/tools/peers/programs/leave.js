globalThis.left = "yes"
Array.prototype.left = "yes"
return "left"
