// Sentence: finding
// Task: the tools of the weather server
// Want: ["get_forecast"]
return Object.keys(tools.weather);
