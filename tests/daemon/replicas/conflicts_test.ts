/**
 * Other writers of the replicas of a target.
 * Clauses: R75, R76, R77, R78.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { type Conflict, type ConflictQuery, findConflict } from "../../../lib/daemon/replicas/conflicts.ts";
import { type HpaFacts, parseHpa } from "../../../lib/daemon/cluster/parse_objects.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { ScaledObjectFacts } from "../../../lib/model/scaled_object.ts";
import { hpa as hpaObject, kafkaMetric, kedasHpa, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

interface Given {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hpaName?: string;
}

function facts(
  name: string,
  createdAt = "2026-11-20T10:00:00Z",
  { annotations = {}, hpaName }: Given = {},
): ScaledObjectFacts {
  const spec = hpaName === undefined ? {} : { advanced: { horizontalPodAutoscalerConfig: { name: hpaName } } };
  const object = scaledObject(name, [workloadTrigger("app=web")], { annotations, spec });
  const metadata = { ...object.metadata, uid: `uid-${name}`, generation: 1, creationTimestamp: createdAt };
  return parseScaledObject({ ...object, metadata });
}

function hpa(name: string, metadata = {}): HpaFacts {
  return parseHpa(hpaObject(name, { metadata: { uid: `uid-${name}`, name, namespace: "default", ...metadata } }));
}

const NOBODY = { hpas: [], scaledObjects: [] };

function find(own: ScaledObjectFacts, others: Partial<Omit<ConflictQuery, "object">>): Conflict {
  const object = own.scaledObject;
  assert(object !== null, own.problems.map(({ message }) => message).join());
  return findConflict({ object, ...NOBODY, overlapping: () => NOBODY, transferredUid: null, ...others });
}

function messageOf({ blocker }: Conflict): string {
  return blocker !== null && "message" in blocker ? blocker.message : "";
}

Deno.test("findConflict() finds nothing where nobody else is (R75, R78)", () => {
  assertEquals(find(facts("web"), {}), { blocker: null, transfer: null, warnings: [] });
});

Deno.test("findConflict() names an HPA of the same target (R75)", () => {
  const conflict = find(facts("web"), { hpas: [hpa("other")] });
  assertEquals(conflict.blocker?.kind, "check");
  assertStringIncludes(messageOf(conflict), 'hpa "other"');
});

Deno.test("findConflict() says to stop KEDA where the HPA is owned by this very object (R75)", () => {
  const owned = (uid: string) => hpa("keda-hpa-web", { ownerReferences: [{ uid }] });
  assertStringIncludes(messageOf(find(facts("web"), { hpas: [owned("uid-web")] })), "stop KEDA");
  assert(!messageOf(find(facts("web"), { hpas: [owned("uid-x")] })).includes("stop KEDA"));
});

const TRANSFER: Given = { annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" }, hpaName: "other" };

Deno.test("findConflict() has the HPA that is named taken over, and no other (R76)", () => {
  const own = facts("web", undefined, TRANSFER);
  const conflict = find(own, { hpas: [hpa("other")] });
  assertEquals([conflict.blocker, conflict.transfer?.name], [null, "other"]);
  const both = find(own, { hpas: [hpa("other"), hpa("third")] });
  assertEquals(both.transfer, null);
  assertStringIncludes(messageOf(both), 'hpa "third"');
});

Deno.test("findConflict() takes an HPA over only where the annotation and its name are given (R76)", () => {
  for (const given of [{ hpaName: "other" }, { annotations: TRANSFER.annotations ?? {} }]) {
    const conflict = find(facts("web", undefined, given), { hpas: [hpa("other")] });
    assertEquals([conflict.blocker?.kind, conflict.transfer], ["check", null]);
  }
});

Deno.test("findConflict() finds an HPA that comes back after it was taken over, and not the one that still shows (R76)", () => {
  const own = facts("web", undefined, TRANSFER);
  const gone = find(own, { hpas: [hpa("other")], transferredUid: "uid-other" });
  assertEquals([gone.blocker, gone.transfer], [null, null]);
  const back = find(own, { hpas: [hpa("other", { uid: "uid-new" })], transferredUid: "uid-other" });
  assertEquals([back.blocker?.kind, back.transfer], ["check", null]);
});

const OWNERSHIP = "validations.keda.sh/hpa-ownership";

Deno.test("findConflict() skips the check, with a warning, for an HPA annotated false and an object annotated true (R77)", () => {
  const unchecked = find(facts("web"), { hpas: [hpa("other", { annotations: { [OWNERSHIP]: "false" } })] });
  const ignoring = find(facts("web", undefined, { annotations: { [OWNERSHIP]: "true" } }), { hpas: [hpa("other")] });
  for (const { blocker, warnings } of [unchecked, ignoring]) {
    assertEquals(blocker, null);
    assertStringIncludes(warnings.join(), 'HPA "other"');
  }
});

Deno.test("findConflict() does not skip the check for an HPA annotated true, nor an object annotated false (R77)", () => {
  const checked = find(facts("web"), { hpas: [hpa("other", { annotations: { [OWNERSHIP]: "true" } })] });
  const heeding = find(facts("web", undefined, { annotations: { [OWNERSHIP]: "false" } }), { hpas: [hpa("other")] });
  assertEquals([checked.blocker?.kind, heeding.blocker?.kind], ["check", "check"]);
});

Deno.test("findConflict() lets the older of two ScaledObjects act, and of two of one age the first by name (R78)", () => {
  const [old, young, twin] = [facts("web", "2026-11-20T09:00:00Z"), facts("a"), facts("b")];
  assertEquals(find(old, { scaledObjects: [young] }).blocker, null);
  assertStringIncludes(messageOf(find(young, { scaledObjects: [old] })), 'ScaledObject "web"');
  assertEquals(find(young, { scaledObjects: [twin] }).blocker, null);
  assertStringIncludes(messageOf(find(twin, { scaledObjects: [young] })), 'ScaledObject "a"');
});

Deno.test("findConflict() finds pods in common AmbiguousSelector, of the younger object and beside any HPA (R78)", () => {
  const [old, young] = [facts("web", "2026-11-20T09:00:00Z"), facts("a")];
  const overlapping = (scaledObjects: readonly ScaledObjectFacts[], hpas: readonly HpaFacts[] = []) => ({
    overlapping: () => ({ hpas, scaledObjects }),
  });
  assertEquals(find(old, overlapping([young])).blocker, null);
  for (const others of [overlapping([old]), overlapping([], [hpa("other")])]) {
    const { blocker } = find(young, others);
    assert(blocker?.kind === "selector");
    assertEquals(blocker.reason, "AmbiguousSelector");
  }
});

Deno.test("parseHpa() leaves out a metric whose name is no text, and keeps the others", () => {
  const odd = kafkaMetric();
  const external = { ...odd.external, metric: { name: { toString: 1 } } };
  const metrics = [{ ...odd, external }, kafkaMetric("5")];
  assertEquals(parseHpa(kedasHpa("uid-web", metrics)).metrics, [
    { name: "s0-kafka-orders", type: "AverageValue", target: "5" },
  ]);
});

Deno.test("parseHpa() leaves out texts that are longer than any name, and more than 16 owners", () => {
  const long = "x".repeat(254);
  const metrics = [
    { ...kafkaMetric(), external: { ...kafkaMetric().external, metric: { name: long } } },
    kafkaMetric("5"),
  ];
  const object = kedasHpa("uid-web", metrics);
  const ownerReferences = [long, ...Array.from({ length: 20 }, (_, index) => `u-${index}`)].map((uid) => (
    { apiVersion: "v1", kind: "Pod", name: "web", uid }
  ));
  const facts = parseHpa({ ...object, metadata: { ...object.metadata, ownerReferences } });
  assertEquals(facts.metrics.map(({ target }) => target), ["5"]);
  assertEquals([facts.owners.length, facts.owners[0]], [15, "u-0"]);
  const toTarget = (changes: object) => {
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web", ...changes };
    return parseHpa({ ...object, spec: { ...object.spec, scaleTargetRef, maxReplicas: 1 } }).target;
  };
  assertEquals(toTarget({ name: "x".repeat(253) }).kind, "Deployment");
  for (const key of ["apiVersion", "kind", "name"]) {
    assertEquals(toTarget({ [key]: long }), { group: "", kind: "", name: "" }, key);
  }
});
