// Sentence: errors
// Task: get the forecast for Berlin, checking for errors
// Want: 9
const res = await tools.weather.get_forecast({ city: "Berlin" });
if (res.isError) {
  throw new Error(res.content[0].text);
}
const data = res.structuredContent ?? (res.content ? JSON.parse(res.content[0].text) : res);
return data.days[0].low;
