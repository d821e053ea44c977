// Sentence: branches
// Task: how many of Berlin and Atlantis have a forecast?
// Want: 1
let found = 0;
for (const city of ["Berlin", "Atlantis"]) {
  try {
    await tools.weather.get_forecast({ city });
    found++;
  } catch (e) {
    console.error(`${city}: ${e.message}`);
  }
}
return found;
