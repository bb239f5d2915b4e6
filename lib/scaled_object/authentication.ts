/** A TriggerAuthentication or ClusterTriggerAuthentication as the rest of podfit knows it: where each parameter stands (R16). */
import type { Problem } from "../units/problem.ts";
import type { AuthenticationRef } from "./trigger.ts";

/** One that is valid. Where a parameter has several places, the last one of `env` and `secrets`, in this order, counts. */
export interface Authentication {
  readonly kind: AuthenticationRef["kind"];
  /** `null` for a ClusterTriggerAuthentication: its secrets are in podfit's own namespace. */
  readonly namespace: string | null;
  readonly name: string;
  /** secretTargetRef. */
  readonly secrets: readonly SecretParameter[];
  /** Variables of the target's containers. */
  readonly env: readonly EnvParameter[];
}

export interface SecretParameter {
  readonly parameter: string;
  /** The secret's. */
  readonly name: string;
  readonly key: string;
}

export interface EnvParameter {
  readonly parameter: string;
  /** The variable's. */
  readonly name: string;
  /** `null` = the first container, whatever the ScaledObject's envSourceContainerName is. */
  readonly containerName: string | null;
}

/** One as it was seen, valid or not. */
export interface AuthenticationFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly kind: AuthenticationRef["kind"];
  readonly namespace: string | null;
  readonly name: string;
  /** `null` when it is invalid: then `problems` says why. */
  readonly authentication: Authentication | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}
