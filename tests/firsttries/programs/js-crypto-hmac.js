// Task: sign the string "payload" with the key "secret"
// Want: "b82fcb791acec57859b989b430a826488ce2e479fdf92326bd0a2e8375a42ba4"
import { createHmac } from "node:crypto";
const signature = createHmac("sha256", "secret").update("payload").digest("hex");
console.log(signature);
return signature;
