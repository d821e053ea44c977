// Sentence: errors
// Task: is there a forecast for Atlantis?
// Want: false
try {
  await tools.weather.get_forecast({ city: "Atlantis" });
  return true;
} catch (e) {
  if (e instanceof ToolError) return false;
  throw e;
}
