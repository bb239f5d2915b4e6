/** Which scenarios can a cluster run? What it lacks is said, so that nothing fails for want of it. */
import { assertEquals } from "#assert";
import { describeLack } from "../e2e/support/needs.ts";
import { EMBEDDED_FACTS } from "../e2e/support/embedded_cluster.ts";

Deno.test("describeLack() leaves out what reads the API server's log where the cluster writes none, as kind does", () => {
  const needs = { auditLog: true } as const;
  const lack = "needs the API server's log of a cluster of tests/cluster/up";
  assertEquals(describeLack(needs, { ...EMBEDDED_FACTS, hasAuditLog: false }), lack);
  assertEquals(describeLack(needs, { ...EMBEDDED_FACTS, hasAuditLog: true }), null);
});

Deno.test("each file of scenarios that compares rights with the API server's log says that it needs it", async () => {
  const folder = new URL("../e2e/", import.meta.url);
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).filter((one) =>
    one.endsWith(".ts")
  );
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(new URL(name, folder))));
  const readers = names.filter((_, at) => texts[at]?.includes("await assertRightsAreUsed("));
  assertEquals(readers.toSorted(), ["install_modes_test.ts", "install_replicas_test.ts", "install_test.ts"]);
  assertEquals(readers.filter((name) => !texts[names.indexOf(name)]?.includes("auditLog: true")), []);
});
