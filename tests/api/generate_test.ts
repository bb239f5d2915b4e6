import { assertEquals } from "#assert";
import { findStale, generate } from "../../tools/generate.ts";

Deno.test("generate() gives exactly the committed types, pages and schemas", async () => {
  const texts = await generate();
  const folders = new Set([...texts.keys()].map((file) => file.split("/").slice(0, 2).join("/")));
  assertEquals([...folders].sort(), ["crds/schemas", "docs/concepts", "docs/evidence", "docs/reference", "lib/api"]);
  assertEquals(await findStale(texts), []);
});

Deno.test("findStaleResource() names a file whose text differs or that is missing", async () => {
  const texts = await generate();
  const [first] = texts;
  const changed = new Map([[first?.[0] ?? "", `${first?.[1]}\n`], ["lib/api/nowhere.ts", ""]]);
  assertEquals(await findStale(changed), ["lib/api/kubernetes.ts", "lib/api/nowhere.ts"]);
});
