/** Are faults of an object found by its schema? */
import { assert, assertEquals, assertMatch } from "#assert";
import { parseAll } from "../../lib/runtime/yaml.ts";
import { listSchemaFaults } from "./object_schemas.ts";

const ROLE = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "a" },
  rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
};

Deno.test("a misspelt field, a value of another type and a kind without a schema are faults", () => {
  assertEquals(listSchemaFaults(ROLE), []);
  const cases: readonly (readonly [typeof ROLE | Record<string, unknown>, RegExp])[] = [
    [{ ...ROLE, rulez: [] }, /does not fit its schema: #\/rulez /],
    [{ ...ROLE, rules: [{ verbs: "get" }] }, /does not fit its schema: #\/rules\/0\/verbs /],
    [{ ...ROLE, rules: [{}] }, /does not have required property "verbs"/],
    [{ ...ROLE, kind: "Rolle" }, /^has no schema of rbac.authorization.k8s.io\/v1 Rolle$/],
  ];
  for (const [object, fault] of cases) assertMatch(listSchemaFaults(object as typeof ROLE)[0] ?? "none", fault);
  assertEquals(listSchemaFaults({ apiVersion: "monitoring.coreos.com/v1", kind: "PodMonitor" }), []);
});

Deno.test("every object of the manifests that are applied without Helm fits its schema", async () => {
  const root = new URL("../../deploy/", import.meta.url);
  for (const name of ["install.yaml", "node-local.yaml", "sidecar.yaml", "quickstart.yaml"]) {
    const objects = parseAll(await Deno.readTextFile(new URL(name, root))) as (typeof ROLE | null)[];
    const found = objects.filter((object) => object !== null);
    assert(found.length > 0, name);
    assertEquals(found.flatMap(listSchemaFaults), [], name);
  }
});
