import { assertEquals } from "#assert";
import { listDeclarations } from "../../tools/declarations.ts";

const SOURCE = `/** What it answers. */
import { a } from "./a.ts";

export const LIST: readonly string[] = [
  "one",
  "two",
];

// A comment ends what stands above it.
export async function* poll(
  node: string,
): AsyncGenerator<{
  readonly at: number;
}> {
  yield await a(node);
}

export interface Left {
  readonly out: number;
}

export class Nodes implements Disposable {
  readonly #all = new Map<string, number>();
  static count = 0;

  constructor(first: string) {
    this.#all.set(first, 0);
  }

  /** Its size. */
  get size(): number {
    if (this.#all.size > 9) {
      return 9;
    }
    return this.#all.size;
  }

  async *#watch() {}

  [Symbol.dispose](): void {
    this.#all.clear();
  }
}

let last: Readonly<
  Record<string, number>
> = {};
`;

Deno.test("listDeclarations() finds functions, constants and members of classes", () => {
  const found = listDeclarations(SOURCE).map(({ name, start, end }) => [name, SOURCE.slice(start, end).trim()]);
  assertEquals(found, [
    ["LIST", 'export const LIST: readonly string[] = [\n  "one",\n  "two",\n];'],
    [
      "poll",
      "export async function* poll(\n  node: string,\n): AsyncGenerator<{\n  readonly at: number;\n}> {\n  yield await a(node);\n}",
    ],
    ["Nodes.#all", "readonly #all = new Map<string, number>();"],
    ["Nodes.count", "static count = 0;"],
    ["Nodes.constructor", "constructor(first: string) {\n    this.#all.set(first, 0);\n  }"],
    [
      "Nodes.size",
      "get size(): number {\n    if (this.#all.size > 9) {\n      return 9;\n    }\n    return this.#all.size;\n  }",
    ],
    ["Nodes.#watch", "async *#watch() {}"],
    ["Nodes.[Symbol.dispose]", "[Symbol.dispose](): void {\n    this.#all.clear();\n  }\n}"],
    ["last", "let last: Readonly<\n  Record<string, number>\n> = {};"],
  ]);
});

Deno.test("listDeclarations() finds nothing in nothing, and the last one without a line's end", () => {
  assertEquals(listDeclarations(""), []);
  assertEquals(listDeclarations("const A = 1;"), [{ name: "A", start: 0, end: 12 }]);
  assertEquals(listDeclarations("class A {}"), []);
});
