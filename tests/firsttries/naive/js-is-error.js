// Sentence: errors
// Task: is there a forecast for Atlantis?
// Want: false
const answer = await tools.weather.get_forecast({ city: "Atlantis" });
return !answer.isError;
