// Sentence: answers
// Task: what is the highest temperature forecast for Berlin?
// Want: 21
const forecast = JSON.parse(await tools.weather.get_forecast({ city: "Berlin" }));
return Math.max(...forecast.days.map((d) => d.high));
