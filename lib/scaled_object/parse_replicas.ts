/** Parses the numbers of a ScaledObject's spec: times in seconds, and how many replicas there may be (R2). */
import type { Fields } from "../units/fields.ts";
import type { ScaledObject } from "./scaled_object.ts";

export type Replicas = Pick<
  ScaledObject,
  "pollIntervalMs" | "cooldownMs" | "initialCooldownMs" | "minReplicas" | "maxReplicas" | "idleReplicas"
>;

/** What KEDA fills in. */
export const DEFAULT_REPLICAS: Replicas = {
  pollIntervalMs: 30_000,
  cooldownMs: 300_000,
  initialCooldownMs: 0,
  minReplicas: 0,
  maxReplicas: 100,
  idleReplicas: null,
};

/** Gives the numbers with their defaults. Problems are reported to `spec`; never throws. */
export function parseReplicas(spec: Fields): Replicas {
  const minReplicas = spec.integer("minReplicaCount", { min: 0 }) ?? DEFAULT_REPLICAS.minReplicas;
  const maxReplicas = spec.integer("maxReplicaCount", { min: 1 }) ?? DEFAULT_REPLICAS.maxReplicas;
  const idleReplicas = spec.integer("idleReplicaCount", { min: 0 });
  const limit = `maxReplicaCount ${maxReplicas}${spec.has("maxReplicaCount") ? "" : ", the default"}`;
  if (minReplicas > maxReplicas) {
    spec.report("minReplicaCount", `Cannot use minReplicaCount ${minReplicas}: greater than ${limit}`);
  }
  // A minimum that is given counts as 1 at least (ty:CheckReplicaCountBoundsAreValid).
  const floor = spec.has("minReplicaCount") ? Math.max(1, minReplicas) : 0;
  if (idleReplicas !== null && idleReplicas >= floor) {
    const note = spec.has("minReplicaCount")
      ? (minReplicas === 0 ? " 0, which counts as 1" : ` ${minReplicas}`)
      : ", which is not set";
    spec.report(
      "idleReplicaCount",
      `Cannot use idleReplicaCount ${idleReplicas}: must be less than minReplicaCount${note}`,
    );
  }
  return {
    pollIntervalMs: parseSecondsToMs(spec, "pollingInterval", { min: 1 }) ?? DEFAULT_REPLICAS.pollIntervalMs,
    cooldownMs: parseSecondsToMs(spec, "cooldownPeriod") ?? DEFAULT_REPLICAS.cooldownMs,
    initialCooldownMs: parseSecondsToMs(spec, "initialCooldownPeriod") ?? DEFAULT_REPLICAS.initialCooldownMs,
    minReplicas,
    maxReplicas,
    idleReplicas,
  };
}

function parseSecondsToMs(spec: Fields, key: string, { min = 0 } = {}): number | null {
  const seconds = spec.integer(key, { min });
  return seconds === null ? null : 1000 * seconds;
}
