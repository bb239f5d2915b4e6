/**
 * Parses a PodResourceAutoscaler into an `Autoscaler`, or reports every problem with its path.
 *
 * It repeats each check of the custom resource definition, as an older definition may be installed. Also: the limits
 * that the operator of podfit sets.
 */
import {
  type Autoscaler,
  type Bounds,
  EVERY_CONTAINER,
  type FieldPolicy,
  type MaxUnavailable,
  type ProfileName,
  type WorkloadKind,
} from "../../model/autoscaler.ts";
import type { NamedWarning } from "../../model/lint_rules.ts";
import { type Fields, LABEL_RULE, NAME_RULE, openFields } from "../../units/fields.ts";
import { formatAmount } from "../../units/quantity.ts";
import type { ResourceField } from "../../units/resources.ts";
import { isEmptySelector, parseSelector, type Selector } from "../../units/selector.ts";
import { formatDuration } from "../../units/time.ts";
import type { Problem } from "../../units/untrusted.ts";
import { listNamedFields, parseBounds, parsePolicy } from "./policy.ts";
import { fillPolicy, PROFILE_NAMES } from "./profiles.ts";
import { warnOfBounds, warnOfDelay, warnOfLimits, warnOfTargets } from "./warnings.ts";

export type ParsedAutoscaler =
  | { readonly ok: true; readonly autoscaler: Autoscaler; readonly warnings: readonly NamedWarning[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Returns the autoscaler, or every problem with its path. Takes any value and never throws. Clauses: C36, C8. */
export function parseAutoscaler(object: unknown): ParsedAutoscaler {
  const problems: Problem[] = [];
  const known = ["apiVersion", "kind", "metadata", "spec", "status"];
  const root = openFields(object, { path: "", problems, known });
  if (root === null) return { ok: false, problems };
  root.word("apiVersion", ["keda.kedify.io/v1alpha1"]);
  root.word("kind", ["PodResourceAutoscaler"]);
  root.require(["metadata", "spec"]);
  const identity = parseIdentity(root);
  const fields = root.object("spec", SPEC_FIELDS);
  const bounds = fields === null ? new Map<ResourceField, Bounds>() : parseBounds(fields);
  const isStored = (identity?.uid ?? "") !== "";
  const spec = fields === null ? null : parseSpec(fields, { bounds, isStored });
  if (identity === null || spec === null || problems.length > 0) return { ok: false, problems };
  const warnings = [
    ...warnOfTargets(spec),
    ...warnOfLimits(spec),
    ...warnOfDelay(spec),
    ...warnOfBounds(spec, bounds.keys()),
  ];
  return { ok: true, autoscaler: { ...identity, key: identity.uid, ...spec }, warnings };
}

/** How much podfit keeps of one namespace. `null` = no limit. */
export interface ObjectBounds {
  readonly maxAutoscalers: number | null;
  /** The same of TriggerAuthentications. */
  readonly maxScaledObjects: number | null;
  /** Of autoscalers, ScaledObjects and TriggerAuthentications together. */
  readonly maxBytes: number | null;
}

/** `null` = no limit. */
export interface OperatorLimits {
  readonly minPollIntervalMs: number | null;
  /** The most that any field of CPU goes up to, millicores. */
  readonly maxCpuMillicores: number | null;
  /** The same of memory, bytes. */
  readonly maxMemoryBytes: number | null;
  /** Namespaces in which nothing is resized and nothing is scaled. */
  readonly excludedNamespaces: readonly string[];
  /** Absent = podfit's defaults. */
  readonly objects?: ObjectBounds;
  /** For autoscalers without a value of their own; absent = podfit's default. */
  readonly maxUnavailable?: MaxUnavailable;
}

export const NO_OPERATOR_LIMITS: OperatorLimits = {
  minPollIntervalMs: null,
  maxCpuMillicores: null,
  maxMemoryBytes: null,
  excludedNamespaces: [],
};

/** Returns why nothing happens in the namespace, and what to do; `null` if it is not excluded. Clauses: L56. */
export function findExclusion(
  namespace: string,
  { excludedNamespaces }: Pick<OperatorLimits, "excludedNamespaces">,
): Problem | null {
  if (!excludedNamespaces.includes(namespace)) return null;
  const message = `podfit leaves namespace "${namespace}" alone (--exclude-namespace): delete this object, or start ` +
    "podfit with another list of --exclude-namespace";
  return { path: "metadata.namespace", message, reason: "NamespaceExcluded" };
}

/** Returns the autoscaler within the limits, and a warning for each value of its manifest that they change. */
export function applyOperatorLimits(
  autoscaler: Autoscaler,
  limits: OperatorLimits,
): { readonly autoscaler: Autoscaler; readonly warnings: readonly Problem[] } {
  const least = limits.minPollIntervalMs ?? 0;
  const isSlower = autoscaler.pollIntervalMs < least;
  const sides = autoscaler.sides.map((rule) => limitField(rule, limits));
  const pollIntervalMs = isSlower ? least : autoscaler.pollIntervalMs;
  const interval = {
    path: "spec.policy.pollInterval",
    message: `${formatDuration(autoscaler.pollIntervalMs)} is raised to podfit's --min-poll-interval ${
      formatDuration(least)
    }`,
  };
  const { maxUnavailable = limits.maxUnavailable } = autoscaler;
  const isFilled = maxUnavailable !== autoscaler.maxUnavailable;
  return {
    autoscaler: isFilled || isSlower || sides.some((rule, index) => rule !== autoscaler.sides[index])
      ? { ...autoscaler, pollIntervalMs, sides, ...(maxUnavailable !== undefined && { maxUnavailable }) }
      : autoscaler,
    warnings: [...(isSlower ? [interval] : []), ...autoscaler.sides.flatMap((rule) => warnOfField(rule, limits))],
  };
}

type Identity = Pick<Autoscaler, "namespace" | "name" | "uid" | "generation">;

type Spec = Omit<Autoscaler, keyof Identity | "key">;

const SPEC_FIELDS = [
  "paused",
  "priority",
  "target",
  "selector",
  "containerName",
  "excludeContainers",
  "profile",
  "mode",
  "newPods",
  "policy",
  "bounds",
];

/** The schema's bound. */
const MAX_EXCLUDED = 100;

const CONTAINER_RULE = { ...LABEL_RULE, rule: `${LABEL_RULE.rule}, or "*" for every container` };

/** Returns the identity. A file has neither uid nor generation, and may have no namespace. */
function parseIdentity(root: Fields): Identity | null {
  const metadata = root.object("metadata", null);
  if (metadata === null) return null;
  metadata.require(["name"]);
  const name = metadata.text("name", NAME_RULE);
  const namespace = metadata.text("namespace", LABEL_RULE) ?? "default";
  const uid = metadata.text("uid", { max: 128, pattern: /^[^]+$/, rule: "must be a string" }) ?? "";
  const generation = metadata.count("generation") ?? 0;
  return { namespace, name: name ?? "", uid, generation };
}

interface SpecContext {
  readonly bounds: ReadonlyMap<ResourceField, Bounds>;
  /** It comes from an API server, whose CRD may have dropped fields. */
  readonly isStored: boolean;
}

function parseSpec(spec: Fields, { bounds, isStored }: SpecContext): Spec | null {
  const profile = spec.word("profile", PROFILE_NAMES);
  if (!spec.has("profile")) requireWithoutProfile(spec, isStored);
  const target = parseTarget(spec);
  const selector = parsePodSelector(spec);
  if (spec.has("target") && spec.has("selector")) {
    spec.report("selector", "Cannot use selector together with target: keep one of them");
  }
  if (!spec.has("target") && !spec.has("selector")) {
    spec.report("target", "Missing target or selector: name a workload in target or the labels of pods in selector");
  }
  const common = {
    paused: spec.boolean("paused") ?? false,
    priority: spec.integer("priority") ?? 0,
    target,
    selector,
    ...parseContainers(spec),
    profile,
    mode: spec.word("mode", ["apply", "recommend"]) ?? "apply",
    newPods: spec.word("newPods", ["template", "inherit"]) ?? "template",
  } as const;
  // With a misspelt profile, fields that every profile has are not missing. The object is invalid in any case.
  const filler = profile ?? (spec.has("profile") ? "balanced" : null);
  const policy = parsePolicy(filler === null ? spec : fillFromProfile(spec, filler), {
    profile,
    named: listNamedFields(spec),
    bounds,
  });
  return policy === null ? null : { ...common, ...policy };
}

/** Requires a policy if the profile is missing. A CRD older than podfit drops the profile. Clauses: L50. */
function requireWithoutProfile(spec: Fields, isStored: boolean): void {
  const why = isStored ? "; one that was set is dropped by a CRD older than podfit: apply podfit's own CRD" : "";
  for (const key of ["containerName", "policy"].filter((key) => !spec.has(key))) {
    spec.report(key, `Missing field "${key}": add it, or a profile${why}`);
  }
}

/** Returns the spec with a policy that its profile has filled in: one parser reads both. */
function fillFromProfile(spec: Fields, profile: ProfileName): Fields {
  return spec.with("policy", fillPolicy(profile, spec.get("policy")));
}

/** Returns the containers: one, or with a profile or EVERY_CONTAINER all but some. */
function parseContainers(spec: Fields): Pick<Spec, "containerName" | "isWildcard" | "excludeContainers"> {
  const isWildcard = spec.has("containerName") ? spec.get("containerName") === EVERY_CONTAINER : spec.has("profile");
  const excludeContainers = spec.texts("excludeContainers", { ...LABEL_RULE, maxItems: MAX_EXCLUDED }) ?? [];
  if (excludeContainers.length > 0 && !isWildcard) {
    spec.report("excludeContainers", `Cannot use excludeContainers with one container: set containerName "*"`);
  }
  const containerName = isWildcard ? EVERY_CONTAINER : spec.text("containerName", CONTAINER_RULE) ?? "";
  return { containerName, isWildcard, excludeContainers };
}

/** In lower case as in Kedify's documentation, or as Kubernetes writes kinds. */
const TARGET_KINDS = ["deployment", "daemonset", "statefulset", "Deployment", "DaemonSet", "StatefulSet"] as const;

/** The kind is in lower case afterwards, however it is written. Clauses: C2. */
function parseTarget(spec: Fields): Autoscaler["target"] {
  const target = spec.object("target", ["kind", "name"]);
  if (target === null) return null;
  target.require(["kind", "name"]);
  const word = target.word("kind", TARGET_KINDS);
  const kind = word === null ? null : word.toLowerCase() as WorkloadKind;
  const name = target.text("name", NAME_RULE);
  return kind === null || name === null ? null : { kind, name };
}

function parsePodSelector(spec: Fields): Selector | null {
  if (!spec.has("selector")) return null;
  const parsed = parseSelector(spec.get("selector"), spec.pathOf("selector"));
  if (!parsed.ok) {
    for (const problem of parsed.problems) spec.add(problem);
    return null;
  }
  if (isEmptySelector(parsed.selector)) {
    spec.report("selector", "Cannot use an empty selector: it would match every pod of the namespace, name labels");
  }
  return parsed.selector;
}

function getMaxAmount({ resource }: FieldPolicy, { maxCpuMillicores, maxMemoryBytes }: OperatorLimits): number {
  return (resource === "cpu" ? maxCpuMillicores : maxMemoryBytes) ?? Infinity;
}

function limitField(rule: FieldPolicy, limits: OperatorLimits): FieldPolicy {
  const most = getMaxAmount(rule, limits);
  const { min, max } = rule.bounds;
  if (most === Infinity || (max ?? Infinity) <= most) return rule;
  return { ...rule, bounds: { ...rule.bounds, max: most, min: min === null ? null : Math.min(min, most) } };
}

/** Warns about bounds that the manifest gives. A field without bounds gets no warning. */
function warnOfField(rule: FieldPolicy, limits: OperatorLimits): readonly Problem[] {
  const { key, resource, bounds: { min, max } } = rule;
  const most = getMaxAmount(rule, limits);
  const flag = resource === "cpu" ? "--max-cpu" : "--max-memory";
  return ([["min", min], ["max", max]] as const).flatMap(([name, amount]) => {
    if (amount === null || amount <= most) return [];
    const [written, lowered] = [formatAmount(amount, resource), formatAmount(most, resource)];
    return [{ path: `spec.bounds.${key}.${name}`, message: `${written} is lowered to podfit's ${flag} ${lowered}` }];
  });
}
