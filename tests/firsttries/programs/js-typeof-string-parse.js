// Sentence: answers
// Task: what is the highest temperature forecast for Paris?
// Want: 23
let forecast = await tools.weather.get_forecast({ city: "Paris" });
if (typeof forecast === "string") forecast = JSON.parse(forecast);
const highs = forecast.days.map(d => d.high);
console.log(`highs: ${highs.join(", ")}`);
return Math.max(...highs);
