// Task: use the input if there is any, otherwise Berlin
// Want: "Berlin"
const fs = require("fs");
const input = fs.readFileSync(0, "utf8").trim();
const city = input || "Berlin";
const forecast = await tools.weather.get_forecast({ city });
return forecast.city;
