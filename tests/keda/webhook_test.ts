/** What KEDA's webhook refuses is a finding of lint and a condition of the object; what it accepts is neither (R3, R4, R96). */
import { assert, assertEquals } from "#assert";
import { stringify } from "yaml";
import { checkTogether } from "../../lib/cli/lint/checks/checks.ts";
import { PLURALS } from "../../lib/cli/lint/known_objects.ts";
import { ApiError } from "../../lib/kube/errors.ts";
import { lintManifests, lintSources, toLintResult } from "../../lib/cli/lint/lint_files.ts";
import type { Manifest } from "../support/manifests.ts";
import { ReplicasRun } from "../support/replicas_run.ts";
import { MEANT_CASES, WEBHOOK_CASES, type WebhookCase } from "./webhook_cases.ts";

const ALL = [...WEBHOOK_CASES, ...MEANT_CASES];

Deno.test("each of the 71 tests of KEDA's webhook is a case once", () => {
  assertEquals(WEBHOOK_CASES.length, 71);
  assertEquals(new Set(WEBHOOK_CASES.map(({ test }) => test)).size, 71);
});

Deno.test("lint finds what KEDA's webhook refuses or warns of, and nothing else (R3, R4, R75, R78, R96)", () => {
  for (const one of ALL) assertEquals(listFindings(one), one.findings, one.test);
});

Deno.test("podfit does other than KEDA's webhook only where a case names the difference (R3, R96)", () => {
  for (const { test, isAccepted, findings, differs } of ALL) {
    assertEquals(isRefusal(findings) === isAccepted, differs !== undefined, test);
  }
});

Deno.test("Ready is False for what KEDA's webhook refuses, and True for what it accepts (R3, R6, R75, R76, R78)", async () => {
  const cases = ALL.filter(({ isFile }) => isFile !== true);
  const objects = cases.flatMap(({ others }, index) => [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: toNamespace(index) } },
    ...others.map((one) => inNamespace(one, index)),
  ]);
  await using run = await ReplicasRun.start(objects, { dryRun: true });
  const refusedAtApply: string[] = [];
  for (const [index, { test, object }] of cases.entries()) {
    try {
      await run.cluster.create(inNamespace(object, index));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 422) throw error;
      refusedAtApply.push(test);
    }
  }
  await run.advance(90);
  const wrong: string[] = [];
  for (const [index, { test, object, findings, others }] of cases.entries()) {
    // Without a target Ready is False too: KEDA's webhook does not look for one, but for cpu and memory.
    const isRefused = isRefusal(findings) || others.length === 0;
    const found = await run.cluster.find(`${toNamespace(index)}/scaledobjects/${nameOf(object)}`);
    const ready = found?.status?.conditions?.find(({ type }: { readonly type: string }) => type === "Ready");
    const isReady = ready?.status === "True" || ready?.message.endsWith(TAKEN_OVER);
    if (refusedAtApply.includes(test) ? !isRefused : isReady === isRefused) {
      wrong.push(`${test}: ${ready?.status} ${ready?.reason} ${ready?.message}`);
    }
  }
  assertEquals(wrong, []);
  assert(refusedAtApply.length < 10, "podfit's definition refuses some of them at once, and KEDA's own does not");
});

function isRefusal(findings: readonly string[]): boolean {
  return findings.some((finding) => !finding.startsWith("no-effect "));
}

/** A dry run takes nothing over, and the object is otherwise good. */
const TAKEN_OVER = "nothing is deleted in a dry run";

/** What lint says of the object, in a cluster where all is listed or of the file alone. */
function listFindings({ object, others, isFile }: WebhookCase): readonly string[] {
  const sources = [{ name: "a.yaml", text: [...others, object].map((one) => stringify(one)).join("---\n") }];
  if (isFile === true) return lintManifests(sources).findings.map(({ rule, path }) => `${rule} ${path}`);
  const read = lintSources(sources);
  const known = { ...read.objects, listed: new Set(PLURALS) };
  const { findings } = toLintResult(read, checkTogether({ known, isSubject: () => true }));
  return findings.filter((one) => one.kind === "ScaledObject" && one.object === nameOf(object))
    .map(({ rule, path }) => `${rule} ${path}`).sort();
}

function nameOf({ metadata }: Manifest): string {
  return (metadata as { readonly name: string }).name;
}

function toNamespace(index: number): string {
  return `keda-${index}`;
}

/** The API server sets the time of an object. */
function inNamespace({ metadata, ...object }: Manifest, index: number): Manifest {
  const { creationTimestamp: _, ...rest } = metadata as Manifest;
  return { ...object, metadata: { ...rest, namespace: toNamespace(index) } };
}
