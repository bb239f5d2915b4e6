import { assertEquals, assertRejects } from "#assert";
import { findClauses, listClauses, listNamedClauses, readClauses } from "../../tools/contract.ts";

Deno.test("listClauses() reads the ids that begin a heading, in their order", () => {
  const contract =
    "# C0 no clause\n## C4 nor this\n### C2 `kind` as in C1\nC9 goes on\n### C10 b\n- C3 is text\n### C11x\n### R1 c\n### L62 d\n### X1 e\n";
  assertEquals(listClauses(contract), ["C2", "C10", "R1", "L62"]);
});

Deno.test("readClauses() reads every contract, in the order of the files' names", async () => {
  const root = await Deno.makeTempDir();
  try {
    const rejects = () =>
      assertRejects(() => readClauses(new URL(`file://${root}/`)), Error, "Cannot find a contract in ");
    await rejects();
    await Deno.mkdir(`${root}/docs/contracts`, { recursive: true });
    await rejects();
    const files = {
      "contracts/sizing.md": "### C1 a\n### C2 b\n",
      "contracts/replicas.md": "### R1 a\n### R2 b\n",
      "contracts/limits.md": "### L1 a\n",
      "notes.md": "### C9 a\n",
      "contracts/sizing.txt": "### C8 a\n",
    };
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${root}/docs/${name}`, text);
    assertEquals(await readClauses(new URL(`file://${root}/`)), ["L1", "R1", "R2", "C1", "C2"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("listNamedClauses() reads the names of tests and steps", () => {
  const text =
    'Deno.test("a (C1, C20)", f);\nawait t.step(`b C33`, f);\n// C4\nconst C5 = 1;\nDeno.test({ name: "d: C6" });\nscenario(\n  "C7 e", {});';
  assertEquals(listNamedClauses(text), ["C1", "C20", "C33", "C6", "C7"]);
});

Deno.test("findClauses() takes no id out of a longer word", () => {
  assertEquals(findClauses("C8: ABC12, C1000, C100 and C44's (C50 to R52), XL3, L4"), [
    "C8",
    "C100",
    "C44",
    "C50",
    "R52",
    "L4",
  ]);
});
