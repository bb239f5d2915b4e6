import { assertEquals, assertRejects } from "@std/assert";
import { findClauses, listClauses, listNamedClauses, readClauses } from "../../tools/contract.ts";

Deno.test("listClauses() reads the ids that begin a point, in their order", () => {
  const contract =
    "# C0 no clause\n- C2 `kind` as in C1\n  C9 goes on\n- C10 b\nC3 is text\n- C11x\n- R1 c\n- L62 d\n- X1 e\n";
  assertEquals(listClauses(contract), ["C2", "C10", "R1", "L62"]);
});

Deno.test("readClauses() reads every contract file, the one without an addition first", async () => {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${root}/docs`);
    await assertRejects(() => readClauses(new URL(`file://${root}/`)), Error, "Cannot find a contract in ");
    const files = {
      "contract-replicas.md": "- R1 a\n- R2 b\n",
      "contract.md": "- C1 a\n- C2 b\n",
      "contract-limits.md": "- L1 a\n",
      "notes.md": "- C9 a\n",
      "contract.txt": "- C8 a\n",
    };
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${root}/docs/${name}`, text);
    assertEquals(await readClauses(new URL(`file://${root}/`)), ["C1", "C2", "L1", "R1", "R2"]);
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
  assertEquals(findClauses("C8: ABC12, C100 and C44's (C50 to R52), XL3, L4"), ["C8", "C44", "C50", "R52", "L4"]);
});
