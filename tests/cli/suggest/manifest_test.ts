/** What is printed: a manifest that parses and lints clean, whatever names and texts are in it. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import type { Verdict } from "../../../lib/cli/suggest/judge.ts";
import {
  formatComment,
  formatManifest,
  formatYaml,
  type ManifestOptions,
  takeName,
} from "../../../lib/cli/suggest/manifest.ts";
import type { Suggestion, Tried } from "../../../lib/cli/suggest/search.ts";
import { MI } from "../../support/builders.ts";
import { assertHarmless, HOSTILE } from "../../support/hostile_text.ts";

const VERDICT: Verdict = {
  slack: 42,
  under: 0.5,
  throttled: 0,
  throttledSeconds: 90,
  memorySlack: 64,
  oomKills: 0,
  resizes: 4,
  resizesPerHour: 1.5,
};

function tried(profile: "latency" | "balanced", numbers: readonly (readonly [string, string | number])[] = []): Tried {
  return { candidate: { profile, numbers: new Map(numbers) }, verdict: VERDICT, score: 1 };
}

const NUMBERS = [["policy.cpu.requests.scaleDown.window", "10m"], ["bounds.cpu.limits.min", "1200m"]] as const;

const SUGGESTION: Suggestion = {
  best: tried("balanced", NUMBERS),
  worths: NUMBERS.map(([path, value]) => ({ path, value, without: { ...VERDICT, resizesPerHour: 6, slack: 84.5 } })),
  profiles: [tried("latency"), tried("balanced")],
  example: { ...VERDICT, slack: 1500 },
  fixed: { ...VERDICT, resizesPerHour: 0 },
  seen: {
    seconds: 3600,
    pods: 2,
    cpu: { half: 100, most95: 200, most99: 300, max: 1234 },
    memory: { half: 100 * MI, most95: 200 * MI, most99: 300 * MI, max: 1024 * MI },
  },
  tried: 77,
};

function options(overrides: Partial<ManifestOptions> = {}): ManifestOptions {
  return {
    target: { kind: "deployment", namespace: "shop", name: "web" },
    container: "app",
    name: "web",
    suggestion: SUGGESTION,
    seen: ["cpu", "memory"],
    source: "usage of 2 pods, watched for 1h",
    ...overrides,
  };
}

Deno.test("formatManifest() prints what parses to the suggested spec and lints clean", () => {
  const text = formatManifest(options());
  assertEquals(parseAll(text), [{
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "web", namespace: "shop" },
    spec: {
      target: { kind: "deployment", name: "web" },
      containerName: "app",
      profile: "balanced",
      policy: { cpu: { requests: { scaleDown: { window: "10m" } } } },
      bounds: { cpu: { limits: { min: "1200m" } } },
    },
  }]);
  const { findings, checked } = lintManifests([{ name: "web.yaml", text }]);
  assertEquals([findings, checked.get("autoscaler")], [[], 1]);
});

Deno.test("formatManifest() says in comments what was seen, what it beat and what each number gains", () => {
  const text = formatManifest(options());
  assertStringIncludes(
    text,
    "# Suggested for container app of deployment/web by what was seen: usage of 2 pods, watched",
  );
  assertStringIncludes(text, "# CPU: at most 100m half of the time, 200m for 95 % of it, and 1,234m always.\n");
  assertStringIncludes(text, "# Memory: at most 100Mi half of the time, 200Mi for 95 % of it, and 1Gi always.\n");
  assertMatch(text, /^#\s+CPU slack +CPU under +throttled +memory slack +OOM kills +resizes\/h$/m);
  assertMatch(text, /^# this +42m +0\.5m +1m 30s +64Mi +0 +1\.5$/m);
  assertMatch(text, /^# the example +1\.5 /m);
  assertStringIncludes(text, "window: 10m # without it: resizes/h 6, CPU slack 84.5m\n");
  assertStringIncludes(text, "# Less than a day was seen");
  assertEquals(text.split("\n").filter((line) => line.length > 120), []);
});

Deno.test("formatManifest() leaves out what was not seen, and says so", () => {
  const text = formatManifest(options({ seen: ["cpu"] }));
  assert(!text.includes("memory slack") && !text.includes("OOM kills"));
  assertStringIncludes(text, "# Memory was not seen");
  assertStringIncludes(formatManifest(options({ seen: ["memory"] })), "# CPU was not seen");
});

Deno.test("formatManifest() marks a profile that stands alone", () => {
  const text = formatManifest(options({ suggestion: { ...SUGGESTION, best: tried("latency"), worths: [] } }));
  assertMatch(text, /^# latency \(this\) /m);
  assertStringIncludes(text, "# Profile latency without changes: none of 77 policies was 5 % better.\n");
  assertStringIncludes(text, "  profile: latency\n");
});

Deno.test("takeName() names an autoscaler after its workload, and its container where there are several, each once", () => {
  const taken = new Set<string>();
  const take = (name: string, container: string | null, kind: "deployment" | "statefulset" = "deployment") =>
    takeName(
      { target: { kind, namespace: "shop", name }, container: container ?? "app", isOnly: container === null },
      taken,
    );
  const names = [
    take("web", "app"),
    take("web", "proxy"),
    take("web-app", null),
    take("db", null),
    take("db", null, "statefulset"),
  ];
  assertEquals(names, ["web-app", "web-proxy", "web-app-deployment", "db", "db-statefulset"]);
  assertEquals([take("db", null), take("db", null), take("db", null)], ["db-deployment", "db-2", "db-3"]);
  const long = `${"a".repeat(252)}b`;
  assertEquals([take(long, "app").length, take(long, "app").length], [253, 253]);
});

Deno.test("formatManifest() warns of kills that no policy avoids", () => {
  const best = { ...tried("balanced"), verdict: { ...VERDICT, oomKills: 3 } };
  const text = formatManifest(options({ suggestion: { ...SUGGESTION, best, worths: [] } }));
  assertStringIncludes(text, "killed for memory under every policy, 3 times under this");
  const once = { ...best, verdict: { ...VERDICT, oomKills: 1 } };
  const other = formatManifest(options({ suggestion: { ...SUGGESTION, best: once, worths: [] } }));
  assertStringIncludes(other, "killed for memory under every policy, once under this");
});

Deno.test("formatYaml() quotes what YAML would take for something else, and keeps comments on their line", () => {
  const fields = {
    a: "2",
    b: "1e5",
    c: "yes",
    d: "10m",
    e: 7,
    f: "1.5",
    g: "web-1",
    h: "64Mi",
    i: "",
    j: "a: b\n#",
    k: "0x1",
  };
  const comments = new Map([["nested.a", "one\ntwo: three"]]);
  const text = formatYaml({ ...fields, nested: { a: "on" } }, comments);
  assertEquals(parseAll(text), [{ ...fields, nested: { a: "on" } }]);
  assertStringIncludes(text, '  a: "on" # one two: three\n');
});

Deno.test("formatYaml() keeps a hostile text and has no character of it that a terminal obeys or hides", () => {
  const fields = { a: HOSTILE, nested: { b: HOSTILE } };
  const text = formatYaml(fields, new Map([["a", HOSTILE]]));
  assertHarmless(text, "YAML");
  assertEquals(parseAll(text), [fields]);
  assertHarmless(formatComment([HOSTILE]), "a comment");
});

Deno.test("formatComment() wraps long lines between words and lets no line escape", () => {
  const text = formatComment([`${"word ".repeat(40)}end`, "a\nkind: Evil", "", "x".repeat(200)]);
  assertEquals(text.split("\n").slice(0, -1).filter((line) => !line.startsWith("#")), []);
  assertEquals(parseAll(text).filter((one) => one !== null), []);
  assertEquals(text.split("\n")[0]?.length, 116);
});
