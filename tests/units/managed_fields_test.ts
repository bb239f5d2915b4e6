import { assertEquals } from "#assert";
import fc from "fast-check";
import { type OwnedFields, parseResizeEntries } from "../../lib/units/managed_fields.ts";
import { RESOURCE_FIELDS, type ResourceField } from "../../lib/units/resources.ts";

Deno.test("parseResizeEntries() reads who set which sides of a container, and when (C42)", () => {
  assertEquals(parseResizeEntries(load("one_manager")), [
    { manager: "podfit", at: Date.UTC(2026, 10, 20, 11, 31, 38), owned: owns({ main: RESOURCE_FIELDS }) },
  ]);
});

Deno.test("parseResizeEntries() keeps managers apart when a second one took a side (C42)", () => {
  assertEquals(parseResizeEntries(load("two_managers")), [
    {
      manager: "podfit",
      at: Date.UTC(2026, 10, 20, 11, 31, 38),
      owned: owns({ main: ["cpu.limits", "memory.requests", "memory.limits"] }),
    },
    { manager: "vpa", at: Date.UTC(2026, 10, 20, 11, 31, 50), owned: owns({ main: ["cpu.requests"] }) },
  ]);
});

Deno.test("parseResizeEntries() has no entry of a manager when another took all its sides (C42)", () => {
  assertEquals(parseResizeEntries(load("takeover")), [
    { manager: "vpa", at: Date.UTC(2026, 10, 20, 11, 31, 54), owned: owns({ main: RESOURCE_FIELDS }) },
  ]);
});

Deno.test("parseResizeEntries() reads init containers beside containers and leaves out pod-level fields", () => {
  assertEquals(parseResizeEntries(load("sidecars_and_pod_level")).map(({ owned }) => owned), [
    owns({
      aux: ["cpu.requests", "cpu.limits"],
      init: ["cpu.requests"],
      sidecar: ["cpu.requests", "cpu.limits"],
    }),
  ]);
});

const ENTRY = {
  manager: "podfit",
  time: "2026-11-20T11:31:38Z",
  subresource: "resize",
  fieldsV1: {
    "f:spec": { "f:containers": { 'k:{"name":"main"}': { "f:resources": { "f:limits": { "f:cpu": {} } } } } },
  },
};

const LEFT_OUT: Readonly<Record<string, unknown>> = {
  "it is of the pod itself": { ...ENTRY, subresource: undefined },
  "it is of the status": { ...ENTRY, subresource: "status" },
  "it has no manager": { ...ENTRY, manager: undefined },
  "its manager is a number": { ...ENTRY, manager: 7 },
  "it has no time": { ...ENTRY, time: undefined },
  "its time is null": { ...ENTRY, time: null },
  "its time has no zone": { ...ENTRY, time: "2026-11-20T11:31:38" },
  "its time does not exist": { ...ENTRY, time: "2026-13-45T11:31:38Z" },
  "its time is a year": { ...ENTRY, time: "2026" },
  "it is null": null,
  "it is a string": "resize",
  "it is a list": [ENTRY],
};

Deno.test("parseResizeEntries() leaves an entry out, and it alone, when it is no resize entry", async (t) => {
  for (const [sentence, entry] of Object.entries(LEFT_OUT)) {
    await t.step(sentence, () => {
      assertEquals(parseResizeEntries([entry, ENTRY]).map(({ owned }) => owned), [owns({ main: ["cpu.limits"] })]);
    });
  }
});

const BROKEN_FIELDS: Readonly<Record<string, unknown>> = {
  "there are none": undefined,
  "they are a string": "f:spec",
  "containers are a list": { "f:spec": { "f:containers": [] } },
  "a container is null": { "f:spec": { "f:containers": { 'k:{"name":"main"}': null } } },
  "a key is no name": {
    "f:spec": { "f:containers": { 'k:{"image":"main"}': { "f:resources": { "f:limits": { "f:cpu": {} } } } } },
  },
  "a name is broken": {
    "f:spec": { "f:containers": { 'k:{"name":"main': { "f:resources": { "f:limits": { "f:cpu": {} } } } } },
  },
  "the map is owned and nothing in it": {
    "f:spec": { "f:containers": { 'k:{"name":"main"}': { "f:resources": { "f:limits": { ".": {} } } } } },
  },
  "only the image is owned": { "f:spec": { "f:containers": { 'k:{"name":"main"}': { "f:image": {} } } } },
  "the fields are another resource's": {
    "f:spec": {
      "f:containers": { 'k:{"name":"main"}': { "f:resources": { "f:limits": { "f:ephemeral-storage": {} } } } },
    },
  },
};

Deno.test("parseResizeEntries() keeps the time of an entry and owns nothing when its fields say nothing", async (t) => {
  for (const [sentence, fieldsV1] of Object.entries(BROKEN_FIELDS)) {
    await t.step(sentence, () => {
      assertEquals(parseResizeEntries([{ ...ENTRY, fieldsV1 }]), [
        { manager: "podfit", at: Date.UTC(2026, 10, 20, 11, 31, 38), owned: [] },
      ]);
    });
  }
});

Deno.test("parseResizeEntries() takes a container named like a property of objects for a name", () => {
  const fieldsV1 = JSON.parse(JSON.stringify(ENTRY.fieldsV1).replace("main", "constructor"));
  assertEquals(parseResizeEntries([{ ...ENTRY, fieldsV1 }])[0]?.owned, [{
    container: "constructor",
    sides: ["cpu.limits"],
  }]);
});

Deno.test("parseResizeEntries() never throws", () => {
  fc.assert(fc.property(fc.anything(), (value) => Array.isArray(parseResizeEntries(value))));
  fc.assert(fc.property(fc.array(fc.anything()), (fieldsV1) => {
    assertEquals(
      parseResizeEntries(fieldsV1.map((fields) => ({ ...ENTRY, fieldsV1: fields }))).length,
      fieldsV1.length,
    );
  }));
});

Deno.test("parseResizeEntries() keeps 128 entries and 501 owned containers of invented ones (C42)", () => {
  const limits = { "f:resources": { "f:limits": { "f:cpu": {} } } };
  const names = Array.from({ length: 20_000 }, (_, index) => [`k:{"name":"c${index}"}`, limits]);
  const invented = { ...ENTRY, fieldsV1: { "f:spec": { "f:containers": Object.fromEntries(names) } } };
  const entries = parseResizeEntries(Array.from({ length: 200 }, () => invented));
  assertEquals([entries.length, entries.reduce((sum, { owned }) => sum + owned.length, 0)], [128, 501]);
});

Deno.test("parseResizeEntries() gets through hostile names and times at once", () => {
  const key = `k:{"name":"${"a".repeat(1e6)}`;
  const fieldsV1 = { "f:spec": { "f:containers": { [key]: {} } } };
  assertEquals(parseResizeEntries([{ ...ENTRY, time: `2026-11-20T11:31:38.${"1".repeat(1e6)}` }]), []);
  assertEquals(parseResizeEntries([{ ...ENTRY, fieldsV1 }])[0]?.owned.length, 0);
});

function owns(sides: Readonly<Record<string, readonly ResourceField[]>>): readonly OwnedFields[] {
  return Object.entries(sides).map(([container, owned]) => ({ container, sides: owned }));
}

function load(name: string): unknown {
  return JSON.parse(Deno.readTextFileSync(new URL(`../testdata/managed_fields/${name}.json`, import.meta.url)));
}
