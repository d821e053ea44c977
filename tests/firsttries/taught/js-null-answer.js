// Sentence: errors
// Task: how many of Berlin and Atlantis have a forecast?
// Want: 1
const all = await Promise.all(["Berlin", "Atlantis"].map((city) => tools.weather.get_forecast({ city }).catch(() => null)));
return all.filter(Boolean).length;
