// Task: make an id for this report
// Want: 36
import { randomUUID } from "crypto";
const id = randomUUID();
return id.length;
