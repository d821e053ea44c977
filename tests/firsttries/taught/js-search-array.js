// Sentence: finding
// Task: the name of the tool for forecasts
// Want: "weather.get_forecast"
const [first] = (await searchTools("forecast")).tools;
return first.name;
