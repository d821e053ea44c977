// Task: print the numbers 1 to 3 separated by spaces
// Prints: 1 2 3
process.stdout.write("1 ");
process.stdout.write("2 ");
process.stdout.write("3\n");
