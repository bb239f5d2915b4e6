/** Which scenarios can a cluster run, and what does one leave behind? What the cluster lacks is said, so that none fails for it. */
import { assertEquals } from "#assert";
import { type Backend, withBackend } from "../e2e/support/backend.ts";
import { createNamespace } from "../e2e/support/cluster.ts";
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

Deno.test("createNamespace() takes back a namespace that does not get ready, and keeps one that does until the end", async () => {
  const play = async (isReady: boolean) => {
    const asked: string[] = [];
    const fake: Pick<Backend, "createNamespace" | "delete" | "get"> = {
      createNamespace: () => isReady ? Promise.resolve() : Promise.reject(new Error("no service account")),
      delete: ({ kind }) => Promise.resolve(void asked.push(`delete ${kind}`)),
      get: () => Promise.resolve(null),
    };
    const ended = await withBackend(fake as Backend, async () => {
      try {
        await using _namespace = await createNamespace("a test");
        asked.push("run");
        return "passed";
      } catch (error) {
        return String(error);
      }
    });
    return [...asked, ended];
  };
  assertEquals(await play(true), ["run", "delete Namespace", "passed"]);
  assertEquals(await play(false), ["delete Namespace", "Error: no service account"]);
});
