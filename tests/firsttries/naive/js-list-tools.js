// Sentence: finding
// Task: the name of the tool for forecasts
// Want: "weather.get_forecast"
const { tools: all } = await listTools();
return all.find((t) => t.name.includes("forecast")).name;
