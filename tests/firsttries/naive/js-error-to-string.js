// Sentence: error fields
// Task: why is there no forecast for Atlantis?
// Want: "unknown city: Atlantis"
const answer = await tools.weather.get_forecast({ city: "Atlantis" }).catch((e) => String(e).replace(/^\w+: /, ""));
return answer;
