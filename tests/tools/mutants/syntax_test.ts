/** Which mutants a text has, and that their keys outlive a rename and a move. */
import { assert, assertEquals } from "#assert";
import { readSyntax } from "../../../tools/mutants/syntax.ts";

const listMutants = (text: string) =>
  readSyntax(text).mutants.map(({ operator, start, end, code }) => `${operator}: ${text.slice(start, end)} -> ${code}`);

const inFunction = (body: string) => `function f(a: number, b: number, c: boolean) {\n  ${body}\n}\n`;

Deno.test("readSyntax() makes of code", async (t) => {
  const rows: readonly { readonly code: string; readonly mutants: readonly string[] }[] = [
    { code: "return a < b;", mutants: ["boundary moved: a < b -> (a) <= (b)"] },
    { code: "return a === b;", mutants: ["equality turned: a === b -> (a) !== (b)"] },
    { code: "return a + b;", mutants: ["sign turned: a + b -> (a) - (b)"] },
    { code: "return a * b;", mutants: ["factor turned: a * b -> (a) / (b)"] },
    { code: "return c && d;", mutants: ["right dropped: c && d -> c", "left dropped: c && d -> d"] },
    { code: "return a ?? b;", mutants: ["right dropped: a ?? b -> a"] },
    { code: "return 5;", mutants: ["number changed: 5 -> 6"] },
    { code: "return true;", mutants: ["boolean turned: true -> false"] },
    { code: "return c ? a : b;", mutants: ["branch chosen: c ? a : b -> a", "branch chosen: c ? a : b -> b"] },
    { code: "return [a, b];", mutants: ["element dropped: a -> ", "element dropped: b -> "] },
    { code: "return { ...d, a };", mutants: ["member dropped: ...d -> ", "member dropped: a -> "] },
    { code: "return Math.min(a, b);", mutants: ["method swapped: Math.min(a, b) -> Math.max(a, b)"] },
    { code: "g(a);", mutants: ["statement dropped: g(a); -> "] },
    {
      code: "if (c) return;",
      mutants: ["guard dropped: if (c) return; -> ", "condition turned: c -> !(c)"],
    },
  ];
  for (const { code, mutants } of rows) {
    await t.step(code, () => assertEquals(listMutants(inFunction(code)), mutants));
  }
});

Deno.test("readSyntax() leaves alone", async (t) => {
  const rows: Readonly<Record<string, string>> = {
    "what is outside of functions": "const LIMIT = 3;\nconst ALL = [1, 2];\n",
    "types": inFunction("const x: 5 = a as 5;"),
    "messages of errors": inFunction('throw new Error("" + 5);'),
    "texts": inFunction('return c ? "a" : `${a + 1}`;'),
    "what ends a loop": inFunction("for (let i = 0; i < a; i++);"),
    "members that say nothing": inFunction('return { b: null, d: "" };'),
    "what takes the place of nothing": inFunction("return a ?? 0;") + inFunction("return a ?? [];"),
    "patterns": inFunction("[a, b] = c;").replace("[a, b] = c;", "for ([a, b] of c);"),
  };
  for (const [sentence, text] of Object.entries(rows)) {
    await t.step(sentence, () => assertEquals(listMutants(text), []));
  }
});

Deno.test("a mutant's key has no names, texts, layout or comments, and tells which part is meant", () => {
  const [key] = readSyntax(inFunction('return g(a, "x") || b === a;')).mutants.map((one) => one.key);
  assertEquals(key, 'right dropped: return «$1 ($2, "") || $3 === $2»;');
  const renamed =
    'const h = (first: number) => {\n  // Why.\n  return k(first,\n    "other") || second === first;\n};\n';
  assertEquals(readSyntax(renamed).mutants.map((one) => one.key)[0], key);
  const keys = readSyntax(inFunction("return c ? a : b;")).mutants.map((one) => one.key);
  assertEquals(keys.length, new Set(keys).size);
});

Deno.test("a block ends where a statement may leave it, and each branch is one", () => {
  const text = inFunction("const d = a;\n  if (d > 1) return 1;\n  g(c && b);\n  while (c) h();");
  const { blocks, loops } = readSyntax(text);
  assertEquals(blocks.map(({ entry, start, end }) => `${entry}: ${text.slice(start, end)}`), [
    "statement: const d = a;",
    "lone: return 1;",
    "statement: g(c && b);",
    "expression: b",
    "lone: h();",
  ]);
  assertEquals([loops, blocks.map(({ isLoop }) => isLoop)], [[], [false, false, false, false, true]]);
  const braced = inFunction("for (const d of e) { g(d); }");
  assertEquals(readSyntax(braced).loops.map((at) => braced.slice(0, at).endsWith("e) {")), [true]);
});

Deno.test("a mutant belongs to the block that runs exactly when it does", () => {
  const text = inFunction("if (a < b) return 1;\n  return c ? a + b : 2;");
  const { blocks, mutants } = readSyntax(text);
  const found = mutants.map(({ start, end, block }) => {
    const at = blocks[block];
    assert(at !== undefined);
    return `${text.slice(start, end)} in ${text.slice(at.start, at.end)}`;
  });
  assertEquals([...new Set(found)], [
    "if (a < b) return 1; in if (a < b) return 1;",
    "a < b in if (a < b) return 1;",
    "1 in return 1;",
    "c ? a + b : 2 in return c ? a + b : 2;",
    "a + b in a + b",
    "2 in 2",
  ]);
});
