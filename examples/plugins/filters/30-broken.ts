// This filter never ends. The host goes on without it.
while (true) {}
