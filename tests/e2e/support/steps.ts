/**
 * Resizes that are steps: an autoscaler that always has another one to take, and whether those that were taken are as
 * far apart as they have to be.
 */
import { assert, assertEquals } from "#assert";
import { quickSpec } from "./autoscalers.ts";
import type { Patch } from "./patches.ts";

/** managedFields have whole seconds, cut off; the rest is how late a watch may show the first step. */
const SLACK_MS = 2_000;

export interface ClimbingOptions {
  readonly cooldownMs: number;
  readonly step?: string;
  readonly after?: "podReady";
  readonly throttling?: "ignore";
}

/** Every resize of these pods is one step of the CPU request, and under load there are always more to take. */
export function climbing(matchLabels: Readonly<Record<string, string>>, options: ClimbingOptions) {
  const { cooldownMs, step = "5m", ...more } = options;
  return quickSpec({ selector: { matchLabels } }, { cooldown: `${cooldownMs / 1000}s`, step, ...more });
}

/** From and to of each PATCH, which has to be one of container "main" that changes nothing but the CPU request. */
export function readSteps(patches: readonly Patch[]): readonly (readonly [number | null, number | null])[] {
  return patches.map(({ changes }) => {
    assertEquals(changes.map(({ container, key }) => [container, key]), [["main", "cpu.requests"]]);
    return [changes[0]?.from ?? null, changes[0]?.to ?? null];
  });
}

export function assertCooldown(patches: readonly Patch[], cooldownMs: number): void {
  const gaps = patches.slice(1).map(({ seenAt }, index) => seenAt - (patches[index]?.seenAt ?? 0));
  const shortest = Math.min(...gaps);
  assert(shortest >= cooldownMs - SLACK_MS, `two resizes only ${shortest} ms apart`);
}
