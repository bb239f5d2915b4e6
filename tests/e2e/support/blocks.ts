/** What kept podfit from resizing, as its metrics count it: `scale_blocked_total`, once per new sample. */
import { assert } from "#assert";
import { type PodRef, waitFor } from "./cluster.ts";
import type { Decision } from "./log.ts";
import { sumOf } from "./metrics.ts";
import type { Podfit } from "./podfit.ts";
import type { WaitOptions } from "./wait.ts";

export interface BlockedOptions {
  readonly reason: string;
  /** Refused PATCHes count too: what they were sent for was no blocked sample. */
  readonly refused?: number;
}

/** Throws unless the metric counts each new sample whose candidate the log says was blocked, and there is one. */
export async function assertCountedBlocked(
  podfit: Podfit,
  { namespace, name }: PodRef,
  { reason, refused = 0 }: BlockedOptions,
): Promise<void> {
  const countLogged = () => {
    return podfit.decisions({ autoscaler: { namespace, name } }).filter((decision) => {
      return isBlocked(decision) && decision.reason === reason && decision.isNewSample;
    }).length;
  };
  const before = countLogged();
  const counted = await readBlocked(podfit, { namespace, name, reason });
  const after = countLogged();
  assert(before > 0, `no new sample was blocked by ${reason}`);
  assert(counted >= before + refused && counted <= after + refused, `${counted} counted, ${before} logged`);
}

export interface Blocks {
  readonly namespace: string;
  /** The autoscaler's. */
  readonly name: string;
  /** Any when it is left out. */
  readonly reason?: string;
}

/** The number of new samples whose candidates were blocked so far. */
export async function readBlocked(podfit: Podfit, { namespace, name, reason }: Blocks): Promise<number> {
  const labels = { namespace, name, ...(reason === undefined ? {} : { reason }) };
  return sumOf(await podfit.metrics(), "kedify_agent_pra_scale_blocked_total", labels) ?? 0;
}

/** Waits until the candidates of so many new samples were blocked; gives how many were. */
export function waitForBlocked(
  podfit: Podfit,
  { count = 1, timeoutMs = 90_000, everyMs = 250, ...blocks }: Blocks & WaitOptions & { readonly count?: number },
): Promise<number> {
  return waitFor(`"${blocks.name}" to be blocked ${count} times by ${blocks.reason ?? "anything"}`, async () => {
    const blocked = await readBlocked(podfit, blocks);
    if (blocked >= count) return blocked;
    throw new Error(`it was ${blocked} times`);
  }, { timeoutMs, everyMs });
}

/** Whether a change was wanted and did not happen. */
export function isBlocked({ action, why }: Decision): boolean {
  return action !== null && why !== null;
}
