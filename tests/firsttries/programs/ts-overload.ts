// Task: pad numbers and strings
// Want: ["007","ab "]
function pad(x: number): string;
function pad(x: string): string;
function pad(x: number | string): string {
  return typeof x === "number" ? String(x).padStart(3, "0") : x.padEnd(3);
}
return [pad(7), pad("ab")];
