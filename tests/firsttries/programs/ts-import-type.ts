// Task: size of a buffer
// Want: 5
import type { Buffer as NodeBuffer } from "node:buffer";
import { Buffer } from "node:buffer";

const b: NodeBuffer = Buffer.from("hello");
const size: number = b.byteLength;
return size;
