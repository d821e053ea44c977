// Sentence: finding
// Task: the highest temperature in Berlin
// Want: 21
const weather = await tools.weather.getWeather({ city: "Berlin" });
return Math.max(...weather.days.map((d) => d.high));
