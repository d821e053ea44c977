// Task: what is the highest temperature forecast for Berlin?
// Want: 21
// Without: content[0].text
// Without: JSON.parse
const forecast = await tools.weather.get_forecast({ city: "Berlin" });
return Math.max(...forecast.days.map((d) => d.high));
