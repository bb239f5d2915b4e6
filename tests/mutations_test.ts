/** Do the mutations still fit the project? Whether their tests notice them is what `deno task clauses --mutate` shows. */
import { assertEquals } from "#assert";
import { readClauses } from "../tools/contract.ts";
import { placeMutation } from "../tools/mutation.ts";
import { readSources } from "../tools/source_index.ts";
import { MUTATIONS } from "./mutations.ts";

const ROOT = new URL("../", import.meta.url);
const ALL = Object.entries(MUTATIONS).flatMap(([clause, some]) => some.map((mutation) => ({ clause, mutation })));

Deno.test("every clause of the contract has mutations, and no other", async () => {
  assertEquals(Object.keys(MUTATIONS).sort(), [...await readClauses(ROOT)].sort());
  assertEquals(Object.entries(MUTATIONS).filter(([, some]) => some.length === 0), []);
});

Deno.test("each mutation fits one place of the project and names one test", async () => {
  const index = await readSources(ROOT);
  const faults = ALL.flatMap(({ clause, mutation }) => {
    const placed = placeMutation(mutation, index);
    return "fault" in placed ? [`${clause} ${mutation.breaks}: ${placed.fault}`] : [];
  });
  assertEquals(faults, []);
});

Deno.test("no mutation is anchored to a TypeScript file, which may be renamed", () => {
  assertEquals(ALL.filter(({ mutation }) => "file" in mutation && mutation.file.endsWith(".ts")), []);
});

Deno.test("no mutation stands twice under a clause", async () => {
  const index = await readSources(ROOT);
  const keys = ALL.map(({ clause, mutation }) => {
    const placed = placeMutation(mutation, index);
    return "fault" in placed ? JSON.stringify(mutation) : `${clause} ${placed.file}\n${placed.text}`;
  });
  assertEquals(new Set(keys).size, keys.length);
});
