// Sentence: errors
// Task: post to #alerts, or say that it is not allowed
// Want: "not allowed"
try {
  await tools.slack.post_message({ channel: "#alerts", text: "hello" });
  return "sent";
} catch (e) {
  if (e instanceof PolicyError) return "not allowed";
  throw e;
}
