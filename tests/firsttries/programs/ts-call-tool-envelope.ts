// Sentence: answers
// Task: total of paid orders in EUR
// Want: 425.25
interface TextContent { type: "text"; text: string }
interface CallToolResult { content: TextContent[]; isError?: boolean }
interface Order { amount: number; currency: string }

async function call<T>(name: string, args: Record<string, unknown>): Promise<T> {
  const result = (await callTool(name, args)) as CallToolResult;
  return JSON.parse(result.content[0].text) as T;
}

const { orders } = await call<{ orders: Order[] }>("crm.list_orders", { status: "paid" });
return orders.filter((o) => o.currency === "EUR").reduce((sum, o) => sum + o.amount, 0);
