// Task: average high of two cities
// Want: {"Berlin":18,"Paris":20.7}
const cities = ["Berlin", "Paris"] as const;
type City = (typeof cities)[number];
const out: Partial<Record<City, number>> = {};
for (const city of cities) {
  const f = await tools.weather.get_forecast({ city });
  const highs: number[] = f.days.map((d: { high: number }) => d.high);
  out[city] = Math.round((highs.reduce((a, b) => a + b, 0) / highs.length) * 10) / 10;
}
return out satisfies Partial<Record<City, number>>;
