// Task: describe two shapes
// Want: ["circle 3.14","square 4.00"]
abstract class Shape {
  abstract readonly name: string;
  abstract area(): number;
  toString(): string {
    return `${this.name} ${this.area().toFixed(2)}`;
  }
}
class Circle extends Shape {
  readonly name = "circle";
  constructor(private r: number) { super(); }
  area() { return Math.PI * this.r ** 2; }
}
class Square extends Shape {
  readonly name = "square";
  constructor(private a: number) { super(); }
  override area() { return this.a ** 2; }
}
return [new Circle(1), new Square(2)].map(String);
