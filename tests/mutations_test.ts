/** Do the mutations still fit the project? Whether their tests notice them is what `deno task clauses --mutate` shows. */
import { assert, assertEquals } from "#assert";
import { readClauses } from "../tools/contract.ts";
import { placeMutation } from "../tools/mutation.ts";
import { readSources } from "../tools/source_index.ts";
import { MUTATIONS } from "./mutations.ts";
import { GENERATED } from "./mutations/generated.ts";
import { ACCEPTED_SURVIVORS } from "./mutations/survivors.ts";

const ROOT = new URL("../", import.meta.url);
const ALL = Object.entries(MUTATIONS).flatMap(([clause, some]) => some.map((mutation) => ({ clause, mutation })));

/** As many as there were when all of them were written by hand. */
const LEAST = 1365;

Deno.test("every clause of the contract has mutants, and no other", async () => {
  const clauses = new Set([...Object.keys(MUTATIONS), ...Object.keys(GENERATED)]);
  assertEquals([...clauses].sort(), [...await readClauses(ROOT)].sort());
  assertEquals(Object.entries(MUTATIONS).filter(([, some]) => some.length === 0), []);
  assertEquals(Object.entries(GENERATED).filter(([, count]) => !(Number.isInteger(count) && count > 0)), []);
});

Deno.test("mutants do not become fewer", () => {
  const generated = Object.values(GENERATED).reduce((sum, count) => sum + count, 0);
  assert(ALL.length + generated >= LEAST, `${ALL.length} written down, ${generated} generated`);
});

Deno.test("accepted survivors are few, and each has a reason", () => {
  const accepted = Object.entries(ACCEPTED_SURVIVORS);
  assert(accepted.length <= 40, `${accepted.length}`);
  assertEquals(accepted.filter(([key, why]) => !/^[a-z ]+: .*«.*»/.test(key) || why.split(" ").length < 4), []);
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
