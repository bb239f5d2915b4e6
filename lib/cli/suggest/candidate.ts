/** A policy that may be suggested: a profile, and the few numbers that differ from it. */
import type { Autoscaler, ProfileName } from "../../autoscaler/autoscaler.ts";
import { parseAutoscaler } from "../../autoscaler/parse_autoscaler.ts";
import { adviseOnCooldown } from "../../autoscaler/warnings.ts";

/** As a manifest has it. */
export type Value = string | number;

export interface Candidate {
  readonly profile: ProfileName;
  /** By path within the spec: `policy.cpu.requests.scaleDown.window`. */
  readonly numbers: ReadonlyMap<string, Value>;
}

/** Fields of `spec`, nested as a manifest has them. */
export type Spec = { readonly [field: string]: Value | Spec };

/** The spec without what it is for. */
export function toSpec({ profile, numbers }: Candidate): Spec {
  const spec: Nested = { profile };
  for (const [path, value] of numbers) setPath(spec, path.split("."), value);
  return spec;
}

/** The same with one number more, or another one; `null` takes it away. */
export function withNumber(candidate: Candidate, path: string, value: Value | null): Candidate {
  const numbers = new Map(candidate.numbers);
  numbers.delete(path);
  if (value !== null) numbers.set(path, value);
  return { ...candidate, numbers };
}

/** The autoscaler of a spec for one container; `null` where it is not valid. */
export function toAutoscaler(spec: Spec, containerName: string): Autoscaler | null {
  const parsed = parse(spec, containerName);
  return parsed.ok ? parsed.autoscaler : null;
}

/** Whether `podfit lint` says nothing of it. */
export function isClean(spec: Spec): boolean {
  const parsed = parse(spec, "app");
  return parsed.ok && parsed.warnings.length === 0 && adviseOnCooldown(parsed.autoscaler).length === 0;
}

function parse(spec: Spec, containerName: string) {
  return parseAutoscaler({
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "suggested", namespace: "default", uid: "suggested" },
    spec: { selector: { matchLabels: { app: "suggested" } }, containerName, ...spec },
  });
}

type Nested = { [field: string]: Value | Nested };

function setPath(target: Nested, [field = "", ...rest]: readonly string[], value: Value): void {
  if (rest.length === 0) {
    target[field] = value;
    return;
  }
  const inner = target[field];
  const next: Nested = typeof inner === "object" ? inner : {};
  target[field] = next;
  setPath(next, rest, value);
}
