// Sentence: finding
// Task: the name of the tool for forecasts
// Want: "weather.get_forecast"
const { tools: found } = await searchTools("forecast");
return found[0].name;
