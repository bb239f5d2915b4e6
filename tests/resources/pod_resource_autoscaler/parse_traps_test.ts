/**
 * parseAutoscaler() with unusual values in every field, and with random manifests.
 * Clauses: C7, C8.
 */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import type { Problem } from "../../../lib/units/untrusted.ts";
import { anyManifest } from "../../support/manifest_arbitraries.ts";
import { toManifest } from "../../support/manifests.ts";
import { eachTrap } from "../../support/traps.ts";

/** At the top of every path there is. */
const PATH = /^spec(\.|$)/;
/** What breaks a line, or hides in it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const SLOW_MS = 500;

Deno.test("parseAutoscaler() refuses what is no good and takes what is, in every field of its sort (C7 C8)", () => {
  const failures: string[] = [];
  for (const { sentence, path, text, isAccepted } of eachTrap()) {
    const manifest = JSON.parse(text);
    const startedAt = performance.now();
    const parsed = parseAutoscaler(manifest);
    if (performance.now() - startedAt > SLOW_MS) failures.push(`${sentence}: slow`);
    if (isAccepted !== null && isAccepted !== parsed.ok) failures.push(`${sentence}: ${JSON.stringify(parsed)}`);
    if (parsed.ok) continue;
    if (isAccepted === false && !parsed.problems.some((problem) => isWithin(problem, path))) {
      failures.push(`${sentence}: ${path} is not named in ${JSON.stringify(parsed.problems)}`);
    }
    failures.push(...parsed.problems.filter((problem) => !isPresentable(problem)).map((one) => JSON.stringify(one)));
  }
  assertEquals(failures, []);
});

Deno.test("parseAutoscaler() finds presentable problems or none in random manifests (C8)", () => {
  const [accepted, refused] = [new Set<string>(), new Set<string>()];
  fc.assert(
    fc.property(anyManifest(), (text) => {
      const parsed = parseAutoscaler(JSON.parse(text));
      (parsed.ok ? accepted : refused).add(text);
      assert(parsed.ok || parsed.problems.length > 0);
      if (!parsed.ok) assertEquals(parsed.problems.filter((problem) => !isPresentable(problem)), []);
    }),
    { numRuns: 1_000 },
  );
  assert(accepted.size > 100 && refused.size > 100, `${accepted.size} accepted, ${refused.size} refused`);
});

Deno.test("parseAutoscaler() shows a field of any name on one bounded line (C8)", () => {
  for (
    const key of ["k".repeat(1e6), "\u0000".repeat(1e6), "a\nb", "a\u0000", "\u202egnp", "\u2028", "\ud800", "", `"`]
  ) {
    for (const path of ["spec", "spec.policy", "spec.selector", "spec.bounds.cpu.requests"]) {
      const parsed = parseAutoscaler(toManifest({ [path]: { [key]: 1 } }));
      assert(
        !parsed.ok && parsed.problems.some((problem) => problem.path.startsWith(`${path}.`)),
        JSON.stringify(parsed),
      );
      assertEquals(parsed.problems.filter((problem) => !isPresentable(problem)), []);
    }
  }
});

function isPresentable({ path, message }: Problem): boolean {
  return PATH.test(path) && message !== "" && path.length + message.length < 1000 && !UNSEEN.test(path + message) &&
    (path + message).isWellFormed();
}

/** A problem may lie deeper than the field that the manifest got wrong. */
function isWithin({ path }: Problem, expected: string): boolean {
  return path === expected || path.startsWith(`${expected}.`) || path.startsWith(`${expected}[`);
}
