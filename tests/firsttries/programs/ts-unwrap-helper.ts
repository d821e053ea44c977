// Sentence: answers
// Task: low temperatures for Paris
// Want: [12,13,10]
type ToolResult = { content: Array<{ type: string; text: string }>; isError?: boolean };

function unwrap<T>(r: ToolResult): T {
  if (r.isError) throw new Error(r.content[0].text);
  return JSON.parse(r.content[0].text) as T;
}

interface Forecast { city: string; days: { date: string; high: number; low: number }[] }

const forecast = unwrap<Forecast>(await tools.weather.get_forecast({ city: "Paris" }));
return forecast.days.map((d) => d.low);
