import { assertEquals } from "@std/assert";
import { findClauses, listClauses, listNamedClauses } from "../../tools/contract.ts";

Deno.test("listClauses() reads the ids that begin a point, in their order", () => {
  const contract = "# C0 no clause\n- C2 `kind` as in C1\n  C9 goes on\n- C10 b\nC3 is text\n- C11x\n";
  assertEquals(listClauses(contract), ["C2", "C10"]);
});

Deno.test("listNamedClauses() reads the names of tests and steps", () => {
  const text =
    'Deno.test("a (C1, C20)", f);\nawait t.step(`b C33`, f);\n// C4\nconst C5 = 1;\nDeno.test({ name: "d: C6" });\nscenario(\n  "C7 e", {});';
  assertEquals(listNamedClauses(text), ["C1", "C20", "C33", "C6", "C7"]);
});

Deno.test("findClauses() takes no id out of a longer word", () => {
  assertEquals(findClauses("C8: ABC12, C100 and C44's (C50 to C52)"), ["C8", "C44", "C50", "C52"]);
});
