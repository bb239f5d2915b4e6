import { assert, assertEquals, assertThrows } from "#assert";
import { DEFAULT_AXES, listCandidates, parseAxis } from "../../../../lib/cli/simulate/sweep/sweep.ts";
import { parseAutoscaler } from "../../../../lib/resources/pod_resource_autoscaler/parse.ts";

const MANIFEST = {
  apiVersion: "keda.kedify.io/v1alpha1",
  kind: "PodResourceAutoscaler",
  metadata: { name: "web" },
  spec: { selector: { matchLabels: { app: "web" } }, containerName: "app", profile: "balanced" },
};

Deno.test("listCandidates() gives the policy as given, then every combination of the values", () => {
  const axes = ["scaleUp.consecutiveSamples=1,2", "bounds.cpu.requests.max=2"].map(parseAxis);
  const candidates = listCandidates([MANIFEST], axes);
  assertEquals(candidates.map(({ name }) => name), [
    "as given",
    "scaleUp.consecutiveSamples=1 bounds.cpu.requests.max=2",
    "scaleUp.consecutiveSamples=2 bounds.cpu.requests.max=2",
  ]);
  assertEquals(candidates.map(({ manifests: [one] }) => one?.spec), [
    MANIFEST.spec,
    { ...MANIFEST.spec, policy: { scaleUp: { consecutiveSamples: 1 } }, bounds: { cpu: { requests: { max: 2 } } } },
    { ...MANIFEST.spec, policy: { scaleUp: { consecutiveSamples: 2 } }, bounds: { cpu: { requests: { max: 2 } } } },
  ]);
});

Deno.test("listCandidates() lets a profile take the place of a policy that was written without one", () => {
  const policy = { pollInterval: "5s", consecutiveSamples: 3, cooldown: "2m" };
  const manifest = { ...MANIFEST, spec: { ...MANIFEST.spec, policy } };
  const [, candidate] = listCandidates([manifest], [parseAxis("profile=thrifty"), parseAxis("cooldown=1m")]);
  assertEquals(candidate?.manifests[0]?.spec, { ...MANIFEST.spec, profile: "thrifty", policy: { cooldown: "1m" } });
});

Deno.test("listCandidates() keeps the fields of a sweep that are named before the profile", () => {
  const [, candidate] = listCandidates([MANIFEST], ["cooldown=1m", "profile=thrifty"].map(parseAxis));
  assertEquals(candidate?.name, "cooldown=1m profile=thrifty");
  assertEquals(candidate?.manifests[0]?.spec, { ...MANIFEST.spec, profile: "thrifty", policy: { cooldown: "1m" } });
});

Deno.test("listCandidates() refuses a field that is named twice, under one name or under two", () => {
  for (const second of ["cooldown=10m", "policy.cooldown=10m"]) {
    assertThrows(
      () => listCandidates([MANIFEST], ["cooldown=1m", "profile=thrifty", second].map(parseAxis)),
      Error,
      `Cannot sweep field "${second.replace("=10m", "")}" twice`,
    );
  }
});

Deno.test("every policy of the grid that is built in is valid", () => {
  const candidates = listCandidates([MANIFEST], DEFAULT_AXES);
  assertEquals(candidates.length, 37);
  assertEquals(candidates.filter(({ manifests }) => !parseAutoscaler(manifests[0]).ok), []);
});

Deno.test("every field that help and errors give as an example for a sweep is valid", async () => {
  const sources = ["../../../../lib/cli/simulate/options.ts", "../../../../lib/cli/simulate/sweep/sweep.ts"];
  const texts = await Promise.all(sources.map((path) => Deno.readTextFile(new URL(path, import.meta.url))));
  const examples = texts.flatMap((text) => text.match(/\b[a-z][\w.]*\.[a-zA-Z]+=[\w,]+/g) ?? []);
  assert(examples.length >= 4, examples.join());
  for (const example of examples) {
    for (const { name, manifests: [one] } of listCandidates([MANIFEST], [parseAxis(example)])) {
      const result = parseAutoscaler(one);
      assert(result.ok, `${name}: ${JSON.stringify(result)}`);
    }
  }
});

Deno.test("parseAxis() refuses what is no field with values, listCandidates() too many", () => {
  for (const text of ["", "cooldown", "cooldown=", "cooldown=1m,,2m", "=1", "a..b=1", "__proto__.x=1"]) {
    assertThrows(() => parseAxis(text), Error, `Cannot read --sweep "${text}"`);
  }
  const wide = parseAxis(`cooldown=${Array.from({ length: 101 }, (_, index) => `${index}s`)}`);
  assertThrows(
    () => listCandidates([MANIFEST], [wide, { ...wide, field: "delay" }]),
    Error,
    "Cannot sweep 10201 policies",
  );
});
