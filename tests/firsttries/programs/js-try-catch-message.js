// Sentence: error fields
// Task: get the forecast for Atlantis, or say why there is none
// Prints: unknown city: Atlantis
try {
  await tools.weather.get_forecast({ city: "Atlantis" });
} catch (err) {
  console.error("failed");
  console.log(err.message);
}
