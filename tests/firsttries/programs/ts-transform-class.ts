// Task: names of customers as JSON lines through a Transform
// Want: 3
import { Readable, Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";

class JsonLines extends Transform {
  constructor() { super({ writableObjectMode: true }); }
  override _transform(chunk: { name: string }, _enc: BufferEncoding, callback: TransformCallback): void {
    callback(null, JSON.stringify({ name: chunk.name }) + "\n");
  }
}

const { customers } = await tools.crm.list_customers({ limit: 3 });
let text = "";
await pipeline(Readable.from(customers), new JsonLines(), async (source: AsyncIterable<Buffer>) => {
  for await (const part of source) text += part.toString();
});
return text.trim().split("\n").length;
