// Sentence: grants
// Task: read the status page, or say that it cannot be reached
// Want: "unreachable"
try {
  const res = await fetch("https://status.acme.example/api");
  return (await res.json()).status;
} catch (e) {
  return "unreachable";
}
