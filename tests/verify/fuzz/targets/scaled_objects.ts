/** What tenants write beside autoscalers: ScaledObjects of every kind of trigger, and the authentications of triggers. */
import { parseAuthentication } from "../../../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { parseScaledObject } from "../../../../lib/resources/scaled_object/scaled_object.ts";
import type { Trigger } from "../../../../lib/model/scaled_object.ts";
import type { Problem } from "../../../../lib/units/untrusted.ts";
import { AUTHENTICATION } from "../../../support/authentications.ts";
import { GOOD_SCALED_OBJECTS } from "../../../support/good_scaled_objects.ts";
import { edited } from "../hostile.ts";
import { must, mustBeFinite, mustBeOneLine, target } from "../target.ts";

function mustBePresentable(found: readonly Problem[]): void {
  must(found.length <= 100, `${found.length} findings`);
  for (const { path, message } of found) mustBeOneLine(`${path}: ${message}`, "a finding");
}

function mustHaveTarget(trigger: Trigger, hasFormula: boolean): void {
  if (trigger.kind === "external") {
    const { targetMilli, activation, source } = trigger;
    if (source.kind === "invalid") return mustBeOneLine(source.problem, "a mistake");
    must(targetMilli === null ? hasFormula : targetMilli > 0n && targetMilli < 2n ** 63n, `a target of ${targetMilli}`);
    mustBeFinite(activation, "activation");
    return;
  }
  const { target } = trigger;
  must(target.kind === "Utilization" ? target.percent >= 1 : target.milli > 0n, `a target of ${trigger.type}`);
}

const scaledObjects = target({
  name: "scaled-objects",
  weight: 10,
  arbitrary: edited(GOOD_SCALED_OBJECTS.map(({ manifest }) => manifest)),
  check(object) {
    const { scaledObject, problems, warnings } = parseScaledObject(object);
    mustBePresentable([...problems, ...warnings]);
    must(scaledObject !== null || problems.length > 0, "no problem of an invalid object");
    if (scaledObject === null) return;
    // A mistake in one trigger leaves the others their values.
    const others = problems.filter(({ path }) => !path.startsWith("spec.triggers["));
    must(others.length === 0, `a valid object with problems of ${others.map(({ path }) => path)}`);
    const { triggers, formula, behavior, minReplicas, maxReplicas, pollIntervalMs, cooldownMs } = scaledObject;
    mustBeFinite([minReplicas, pollIntervalMs, cooldownMs, behavior], "spec", { min: 0 });
    must(minReplicas <= maxReplicas && maxReplicas >= 1, `from ${minReplicas} to ${maxReplicas}`);
    must(triggers.length > 0, "no trigger");
    for (const trigger of triggers) mustHaveTarget(trigger, formula !== null);
  },
});

const authentications = target({
  name: "authentications",
  weight: 3,
  arbitrary: edited([AUTHENTICATION, { ...AUTHENTICATION, kind: "ClusterTriggerAuthentication" }]),
  check(object) {
    const { authentication, problems, warnings } = parseAuthentication(object);
    mustBePresentable([...problems, ...warnings]);
    must((authentication === null) === (problems.length > 0), `${problems.length} problems`);
    if (authentication?.kind === "ClusterTriggerAuthentication") must(authentication.namespace === null, "a namespace");
    for (const { name } of authentication?.secrets ?? []) must(!/[/%]/.test(name), `a secret called ${name}`);
  },
});

export const SCALED_OBJECT_TARGETS = [scaledObjects, authentications];
