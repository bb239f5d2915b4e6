/**
 * Label selectors (metav1.LabelSelector): parsed once, matched often, printed as `kubectl -l` takes them.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
 * An empty selector matches every pod, as in Kubernetes; whether it may be empty is the caller's rule.
 */
import type { Problem } from "./problem.ts";
import { findKeyFault, findValueFault } from "./labels.ts";
import { isRecord, joinPath, quote } from "./untrusted.ts";

export type Operator = "In" | "NotIn" | "Exists" | "DoesNotExist";

/** A label meets it or not; `values` is empty for Exists and DoesNotExist. */
export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelExpression[];
}

export interface LabelExpression {
  readonly key: string;
  readonly operator: Operator;
  readonly values?: readonly string[];
}

export interface Selector {
  /** By key; all must be met. */
  readonly requirements: readonly Requirement[];
  /** As it was written, for `status.effectiveSelector`; fields that were null are left out. */
  readonly source: LabelSelector;
}

export type ParsedSelector =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function parseSelector(value: unknown, path: string): ParsedSelector {
  const problems: Problem[] = [];
  const source = parseSource(value, { path, problems });
  if (problems.length > 0) return { ok: false, problems };
  const requirements: Requirement[] = [
    ...Object.entries(source.matchLabels ?? {}).map(toRequirement),
    ...(source.matchExpressions ?? []).map(({ key, operator, values = [] }) => ({ key, operator, values })),
  ];
  requirements.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  return { ok: true, selector: { requirements, source } };
}

export function matches(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return selector.requirements.every((requirement) => isMet(requirement, labels));
}

export function isEmptySelector(selector: Selector): boolean {
  return selector.requirements.length === 0;
}

/** What `kubectl -l` takes: `app=web,tier in (back,front),!legacy`. */
export function formatSelector(selector: Selector): string {
  return selector.requirements.map(formatRequirement).join(",");
}

/** Far above any real selector; a list beyond it is not looked into. */
const MAX_ENTRIES = 1000;
const MAX_PROBLEMS = 100;
const OPERATORS: readonly Operator[] = ["In", "NotIn", "Exists", "DoesNotExist"];

/** Where a value stands, and where its problems go. */
interface Place {
  readonly path: string;
  readonly problems: Problem[];
}

/** NotIn is met by a pod without the label; hasOwn, for a label may be named `constructor`. */
function isMet({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const label = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return label !== undefined && values.includes(label);
    case "NotIn":
      return label === undefined || !values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
  }
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case "In":
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.toSorted().join(",")})`;
    case "NotIn":
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.toSorted().join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}

function toRequirement([key, value]: readonly [string, string]): Requirement {
  return { key, operator: "In", values: [value] };
}

/** This and the functions below collect problems; what they return counts only when there is none. */
function parseSource(value: unknown, { path, problems }: Place): LabelSelector {
  if (!isRecord(value)) {
    report(problems, { path, message: `Cannot use ${quote(value)} as selector: must be an object` });
    return {};
  }
  checkFields(value, { path, problems, known: ["matchLabels", "matchExpressions"] });
  const matchLabels = parseLabels(value.matchLabels ?? null, { path: `${path}.matchLabels`, problems });
  const matchExpressions = parseExpressions(value.matchExpressions ?? null, {
    path: `${path}.matchExpressions`,
    problems,
  });
  return { ...(matchLabels && { matchLabels }), ...(matchExpressions && { matchExpressions }) };
}

function parseLabels(value: unknown, { path, problems }: Place): Readonly<Record<string, string>> | null {
  if (value === null) return null;
  if (!isRecord(value)) {
    report(problems, { path, message: `Cannot use ${quote(value)} as labels: must be an object` });
    return null;
  }
  const labels: [string, string][] = [];
  for (const [key, label] of bound(Object.entries(value), { path, problems })) {
    // To the API server a label without a value is not there.
    if (label === null) continue;
    const hasKey = isKey(key, { path, problems });
    if (isValue(label, { path: joinPath(path, key), problems }) && hasKey) labels.push([key, label]);
  }
  return Object.fromEntries(labels);
}

function parseExpressions(value: unknown, { path, problems }: Place): readonly LabelExpression[] | null {
  if (value === null) return null;
  return parseList(value, { path, problems })
    .flatMap((item, index) => parseExpression(item, { path: `${path}[${index}]`, problems }) ?? []);
}

function parseExpression(value: unknown, { path, problems }: Place): LabelExpression | null {
  if (!isRecord(value)) {
    report(problems, { path, message: `Cannot use ${quote(value)} as expression: must be an object` });
    return null;
  }
  checkFields(value, { path, problems, known: ["key", "operator", "values"] });
  const { key } = value;
  const hasKey = isKey(key, { path: `${path}.key`, problems });
  const operator = OPERATORS.find((known) => known === value.operator);
  const values = parseValues(value.values ?? null, { path: `${path}.values`, problems });
  if (operator === undefined) {
    const message = `Cannot use ${quote(value.operator)} as operator: must be In, NotIn, Exists or DoesNotExist`;
    report(problems, { path: `${path}.operator`, message });
    return null;
  }
  const isSet = operator === "In" || operator === "NotIn";
  if (isSet && isEmptyList(value.values)) {
    report(problems, { path: `${path}.values`, message: `Cannot use operator "${operator}": no values` });
  }
  if (!isSet && !isEmptyList(value.values)) {
    report(problems, { path: `${path}.values`, message: `Cannot use operator "${operator}": it takes no values` });
  }
  return hasKey ? { key, operator, ...(values && { values }) } : null;
}

function parseValues(value: unknown, { path, problems }: Place): readonly string[] | null {
  if (value === null) return null;
  return parseList(value, { path, problems })
    .filter((item, index): item is string => isValue(item, { path: `${path}[${index}]`, problems }));
}

function parseList(value: unknown, { path, problems }: Place): readonly unknown[] {
  if (Array.isArray(value)) return bound(value, { path, problems });
  report(problems, { path, message: `Cannot use ${quote(value)} as list` });
  return [];
}

function bound<T>(entries: readonly T[], { path, problems }: Place): readonly T[] {
  if (entries.length <= MAX_ENTRIES) return entries;
  report(problems, { path, message: `Cannot use ${entries.length} entries: at most ${MAX_ENTRIES} are read` });
  return [];
}

function isEmptyList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isKey(key: unknown, { path, problems }: Place): key is string {
  const fault = typeof key === "string" ? findKeyFault(key) : "must be a string";
  if (fault !== null) report(problems, { path, message: `Cannot use label key ${quote(key)}: ${fault}` });
  return fault === null;
}

function isValue(value: unknown, { path, problems }: Place): value is string {
  const fault = typeof value === "string" ? findValueFault(value) : "must be a string, in quotes";
  if (fault !== null) report(problems, { path, message: `Cannot use label value ${quote(value)}: ${fault}` });
  return fault === null;
}

function checkFields(
  value: Readonly<Record<string, unknown>>,
  { path, problems, known }: Place & { readonly known: readonly string[] },
): void {
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue;
    const message = `Cannot use field ${quote(field)}: only ${known.join(", ")} are known`;
    report(problems, { path: joinPath(path, field), message });
  }
}

function report(problems: Problem[], problem: Problem): void {
  if (problems.length < MAX_PROBLEMS) problems.push(problem);
}
