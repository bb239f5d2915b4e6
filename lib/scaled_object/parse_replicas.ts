/** Parses the numbers of a ScaledObject's spec: times in seconds, and how many replicas there may be (R2). */
import type { Fields } from "../units/fields.ts";
import type { ScaledObject } from "./scaled_object.ts";

export type Replicas = Pick<
  ScaledObject,
  "pollIntervalMs" | "cooldownMs" | "initialCooldownMs" | "minReplicas" | "maxReplicas" | "idleReplicas"
>;

/** Gives the numbers with their defaults. Problems are reported to `spec`; never throws. */
export function parseReplicas(spec: Fields): Replicas {
  const minReplicas = spec.integer("minReplicaCount", { min: 0 }) ?? 0;
  const maxReplicas = spec.integer("maxReplicaCount", { min: 1 }) ?? 100;
  const idleReplicas = spec.integer("idleReplicaCount", { min: 0 });
  const limit = spec.has("maxReplicaCount") ? `maxReplicaCount ${maxReplicas}` : "maxReplicaCount 100, the default";
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
    pollIntervalMs: 1000 * (spec.integer("pollingInterval", { min: 1 }) ?? 30),
    cooldownMs: 1000 * (spec.integer("cooldownPeriod", { min: 0 }) ?? 300),
    initialCooldownMs: 1000 * (spec.integer("initialCooldownPeriod", { min: 0 }) ?? 0),
    minReplicas,
    maxReplicas,
    idleReplicas,
  };
}
