// Sentence: errors
// Task: post to #alerts, or say that it is not allowed
// Want: "not allowed"
try {
  await tools.slack.post_message({ channel: "#alerts", text: "hello" });
  return "sent";
} catch (e) {
  if (e.status === 403 || /permission|forbidden|unauthorized/i.test(e.message)) return "not allowed";
  throw e;
}
