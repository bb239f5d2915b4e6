/** One trigger as KEDA's unit tests give it, parsed by podfit; and how their cases are counted. */
import { assertEquals } from "#assert";
import { resolveAuth } from "../../lib/triggers/request.ts";
import type { TriggerParameters } from "../../lib/triggers/value.ts";
import type { ExternalTrigger, ScaledObject } from "../../lib/model/scaled_object.ts";
import { parseScaledObject } from "../../lib/resources/scaled_object/scaled_object.ts";
import { parseAuthentication } from "../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { applyEdits } from "../support/manifests.ts";
import { toAuthentication } from "../support/authentications.ts";
import type { Difference } from "./differences.ts";

/** A trigger's parameters as KEDA resolves them. */
export interface ParseCase {
  /** What is special about it. */
  readonly what: string;
  /** Whether KEDA refuses it. */
  readonly isRefused: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** Of a TriggerAuthentication. */
  readonly parameters?: TriggerParameters;
  /** spec.podIdentity.provider of that. */
  readonly identity?: string;
  readonly metricType?: string;
  /** Of the object; "default" unless given. */
  readonly namespace?: string;
  /** podfit does the opposite. */
  readonly differs?: Difference;
}

export function accepted(what: string, metadata: ParseCase["metadata"], rest: Partial<ParseCase> = {}): ParseCase {
  return { what, isRefused: false, metadata, ...rest };
}

export function refused(what: string, metadata: ParseCase["metadata"], rest: Partial<ParseCase> = {}): ParseCase {
  return { what, isRefused: true, metadata, ...rest };
}

/** Each case is refused by podfit where KEDA refuses it, unless it names a difference. */
export function assertParsed(type: string, cases: readonly ParseCase[]): void {
  for (const one of cases) {
    const causes = listCauses(type, one);
    const isExpected = one.isRefused === (one.differs === undefined);
    assertEquals(causes.length > 0, isExpected, `${type}, ${one.what}: ${causes.join("; ") || "accepted"}`);
  }
}

/** Why podfit does not ask the trigger; empty if it does. */
function listCauses(type: string, { metadata, parameters, identity, metricType, namespace }: ParseCase) {
  const isAuthenticated = parameters !== undefined || identity !== undefined;
  const { problems, scaledObject } = parseTrigger(type, metadata, {
    ...(isAuthenticated && { authenticationRef: { name: "auth" } }),
    ...(metricType !== undefined && { metricType }),
    namespace,
  });
  const causes = problems.map(({ path, message }) => `${path}: ${message}`);
  if (identity !== undefined) {
    const podIdentity = { provider: identity };
    const parsed = parseAuthentication(toAuthentication({ "spec": { podIdentity } }));
    causes.push(...parsed.problems.map(({ message }) => message));
  }
  const [trigger] = scaledObject?.triggers ?? [];
  if (trigger?.kind !== "external") return causes;
  const { source } = trigger;
  if (source.kind !== "prometheus" && source.kind !== "metrics-api") return causes;
  const resolved = resolveAuth(source, parameters ?? {});
  return resolved.ok ? causes : [...causes, resolved.cause];
}

interface Rest {
  readonly authenticationRef?: { readonly name: string };
  readonly metricType?: string;
  readonly namespace?: string | undefined;
  /** The number of other triggers before it. */
  readonly index?: number;
}

/** An object with the trigger, after so many others. */
function parseTrigger(type: string, metadata: ParseCase["metadata"], { namespace, index = 0, ...rest }: Rest) {
  const others = Array.from({ length: index }, () => ({
    type: "cron",
    metadata: { timezone: "UTC", start: "0 * * * *", end: "1 * * * *", desiredReplicas: "1" },
  }));
  return parseScaledObject(applyEdits({
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name: "web", namespace: namespace ?? "default" },
    spec: { scaleTargetRef: { name: "web" }, minReplicaCount: 1, triggers: [...others, { type, metadata, ...rest }] },
  }, {}));
}

/** The object's last trigger, which must be valid. */
export function getTrigger(type: string, metadata: ParseCase["metadata"], rest: Rest = {}): ExternalTrigger {
  const trigger = getObject(type, metadata, rest).triggers.at(-1);
  if (trigger?.kind !== "external") throw new Error(`Cannot use ${type}: it is not an external trigger`);
  return trigger;
}

export function getObject(type: string, metadata: ParseCase["metadata"], rest: Rest = {}): ScaledObject {
  const { scaledObject, problems } = parseTrigger(type, metadata, rest);
  if (scaledObject === null) throw new Error(problems.map(({ message }) => message).join("; "));
  return scaledObject;
}
