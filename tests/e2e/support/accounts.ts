/**
 * podfit reports an action in many places. Do they agree with what the API server saw? The PATCHes of a recorded pod
 * are the truth; log, events, metrics and status are held against it (C40, C45, C50 to C52).
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { requestOrLimitOf, RESIZE_UNIT, resourceOf } from "../../../lib/units/resources.ts";
import { waitForLastChange } from "./autoscalers.ts";
import { type PodRef, readAutoscaler, readEvents, readPod, waitFor } from "./cluster.ts";
import { type LogLine, readAt } from "./log.ts";
import { type MetricSample, sumOf } from "./metrics.ts";
import type { EventJson } from "./objects.ts";
import type { Change, Patch, PodRecorder } from "./patches.ts";
import type { Podfit } from "./podfit.ts";

export interface AccountsOptions {
  readonly autoscaler: string;
  /** A pod that nobody but this autoscaler resizes. */
  readonly pod: PodRef;
  readonly container?: string;
  readonly recorder: PodRecorder;
}

/** Events and status have whole seconds. */
const CLOSE_MS = 5000;

/** Holds every account against the PATCHes so far, which must be at rest, and returns them. */
export async function assertAccountsAgree(podfit: Podfit, options: AccountsOptions): Promise<readonly Patch[]> {
  const { autoscaler, pod, container = "main", recorder } = options;
  const patches = await recorder.patches();
  for (const { managers, changes } of patches) {
    assertEquals(managers, [`podfit.${container}`]);
    assert(changes.every((change) => change.container === container), `other containers: ${JSON.stringify(changes)}`);
    assertEquals(new Set(changes.map(isUp)).size, 1, `both directions in one PATCH: ${JSON.stringify(changes)}`);
  }
  // Another process may see a PATCH before podfit has its answer.
  const lines = await waitFor(`${patches.length} log lines of resizes`, () => {
    const lines = podfit.log("Resized pod").filter((line) => line.autoscaler === `${pod.namespace}/${autoscaler}`);
    if (lines.length >= patches.length) return Promise.resolve(lines);
    throw new Error(`there are ${lines.length}`);
  }, { timeoutMs: 10_000 });
  assertEquals(lines.map(({ action }) => action), patches.map(toAction), "log lines and PATCHes");
  await assertEventsAgree(lines, options);
  await assertMetricsAgree(podfit, { ...options, patches });
  const last = lines.at(-1);
  if (last !== undefined) await assertStatusAgrees(last, options);
  return patches;
}

/** The sum over the series with these labels; `null` when there is none. */
export function readSum(
  samples: readonly MetricSample[],
  name: string,
  labels: Readonly<Record<string, string>>,
): number | null {
  return sumOf(samples, `kedify_agent_pra_${name}`, labels);
}

/**
 * Returns how often podfit failed in the namespace, by reason. It leaves out three failed readings of a kubelet in a row, as
 * happen on a busy machine.
 */
export function countErrors(samples: readonly MetricSample[], namespace: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    samples.flatMap(({ name, labels, value }) => {
      const { reason = "" } = labels;
      const isOwn = name === "kedify_agent_pra_error_total" && labels["namespace"] === namespace;
      return isOwn && reason !== "MetricsUnavailable" ? [[reason, value]] : [];
    }),
  );
}

function isUp({ from, to }: Change): boolean {
  return (to ?? 0) > (from ?? 0);
}

function toAction({ changes }: Patch): "scaleUp" | "scaleDown" {
  return changes.every(isUp) ? "scaleUp" : "scaleDown";
}

async function assertEventsAgree(lines: readonly LogLine[], { autoscaler, pod }: AccountsOptions): Promise<void> {
  const { uid } = (await readPod(pod)).metadata;
  const about = (await readAutoscaler(pod.namespace, autoscaler)).metadata;
  for (const [action, name] of [["scaleUp", "ScaleUp"], ["scaleDown", "ScaleDown"]] as const) {
    const logged = lines.filter((line) => line.action === action);
    const filter = {
      kind: "PodResourceAutoscaler",
      about: autoscaler,
      reason: `PodResourceAutoscaler${name}`,
    } as const;
    const events = await waitFor(
      `${logged.length} events ${filter.reason}`,
      async (): Promise<readonly EventJson[]> => {
        const events = await readEvents(pod.namespace, filter);
        if (events.length >= logged.length) return events;
        throw new Error(`there are ${events.length}`);
      },
      { timeoutMs: 10_000 },
    );
    assertEquals(events.length, logged.length, filter.reason);
    for (const [index, event] of events.entries()) {
      assertEquals([event.type, event.count], ["Normal", 1]);
      assertEquals([event.related?.kind, event.related?.name, event.related?.uid], ["Pod", pod.name, uid]);
      assertEquals([event.involvedObject.kind, event.involvedObject.uid], ["PodResourceAutoscaler", about.uid]);
      const at = Date.parse(event.lastTimestamp ?? "");
      assert(Math.abs(at - readAt(logged[index])) < CLOSE_MS, `lastTimestamp of ${JSON.stringify(event)}`);
      assertStringIncludes(event.message, String(logged[index]?.change));
    }
  }
}

async function assertMetricsAgree(
  podfit: Podfit,
  { autoscaler, pod, patches }: AccountsOptions & { readonly patches: readonly Patch[] },
): Promise<void> {
  const self = { namespace: pod.namespace, name: autoscaler };
  const isOf = (direction: "up" | "down") => (patch: Patch) =>
    toAction(patch) === (direction === "up" ? "scaleUp" : "scaleDown");
  for (const direction of ["up", "down"] as const) {
    const count = patches.filter(isOf(direction)).length;
    await waitFor(`${count} times to apply ${direction}`, async () => {
      const applied = readSum(await podfit.metrics(), "time_to_apply_seconds_count", { ...self, direction }) ?? 0;
      if (applied === count) return true;
      throw new Error(`there are ${applied}`);
    }, { timeoutMs: 10_000 });
  }
  const samples = await podfit.metrics();
  const changes = patches.flatMap((patch) => patch.changes);
  for (const key of new Set(changes.map(({ key }) => key))) {
    for (const direction of ["up", "down"] as const) {
      const moved = changes.filter((change) => change.key === key && isUp(change) === (direction === "up"));
      const labels = { ...self, resource: resourceOf(key), side: requestOrLimitOf(key), direction };
      const delta = moved.reduce((sum, { from, to }) => sum + Math.abs((to ?? 0) - (from ?? 0)), 0);
      assertEquals(readSum(samples, "scale_delta_absolute_count", labels) ?? 0, moved.length, `deltas of ${key}`);
      assertEquals(readSum(samples, "scale_delta_percent_count", labels) ?? 0, moved.length, `percents of ${key}`);
      const counted = readSum(samples, "scale_delta_absolute_sum", labels) ?? 0;
      assert(
        Math.abs(counted - delta / RESIZE_UNIT[resourceOf(key)]) < 0.01,
        `${key} ${direction}: ${counted} counted, ${delta} done`,
      );
      const decided = readSum(samples, "scale_decisions_total", labels) ?? 0;
      assert(decided >= moved.length, `${key} ${direction}: ${decided} decisions, ${moved.length} changes`);
    }
  }
}

async function assertStatusAgrees(last: LogLine, { autoscaler, pod: { namespace } }: AccountsOptions): Promise<void> {
  const { status } = await waitForLastChange({ namespace, name: autoscaler }, String(last.change));
  assertEquals(status?.lastScaleAction, last.action);
  const apartMs = Math.abs(Date.parse(status?.lastScaleTime ?? "") - readAt(last));
  assert(apartMs < CLOSE_MS, `lastScaleTime ${status?.lastScaleTime}`);
}
