/** Do the mutations still fit the project? Whether their tests notice them is what `deno task clauses --mutate` shows. */
import { assertEquals } from "@std/assert";
import { listClauses } from "../tools/contract.ts";
import { applyMutation } from "../tools/mutation.ts";
import { MUTATIONS } from "./mutations.ts";

const ROOT = new URL("../", import.meta.url);
const ALL = Object.entries(MUTATIONS).flatMap(([clause, some]) => some.map((mutation) => ({ clause, mutation })));

Deno.test("every clause of the contract has mutations, and no other", async () => {
  const clauses = listClauses(await Deno.readTextFile(new URL("docs/contract.md", ROOT)));
  assertEquals(Object.keys(MUTATIONS), clauses);
  assertEquals(Object.entries(MUTATIONS).filter(([, some]) => some.length === 0), []);
});

Deno.test("what a mutation replaces stands exactly once in its file", async () => {
  const faults: string[] = [];
  for (const { clause, mutation } of ALL) {
    const applied = applyMutation(await Deno.readTextFile(new URL(mutation.file, ROOT)), mutation);
    if ("fault" in applied) faults.push(`${clause} ${mutation.breaks}: ${applied.fault}`);
  }
  assertEquals(faults, []);
});

Deno.test("no mutation stands twice under a clause", () => {
  const keys = ALL.map(({ clause, mutation: { file, find, replace } }) =>
    JSON.stringify([clause, file, find, replace])
  );
  assertEquals(keys.filter((key, at) => keys.indexOf(key) !== at), []);
});
