// Sentence: answers
// Task: what is the highest temperature forecast for Berlin?
// Want: 21
const result = await tools.weather.get_forecast({ city: "Berlin" });
const forecast = JSON.parse(result.content[0].text);
return Math.max(...forecast.days.map((d) => d.high));
