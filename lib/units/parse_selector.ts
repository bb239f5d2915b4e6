/**
 * Parses label selectors of any origin: every problem is reported with its path, as the API server would refuse it.
 * Whether a selector may be empty is the caller's rule.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#LabelSelector
 */
import { findKeyFault, findValueFault } from "./labels.ts";
import { addProblem, type Problem } from "./problem.ts";
import type { LabelExpression, LabelSelector, Operator, Requirement, Selector } from "./selector.ts";
import { isRecord, joinPath, quote } from "./untrusted.ts";

export type ParsedSelector =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Parses a selector that stands at `path` of its object. Takes any value and never throws. */
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

/** Far above any real selector. A longer list is refused unread. */
const MAX_ENTRIES = 1000;
const OPERATORS: readonly Operator[] = ["In", "NotIn", "Exists", "DoesNotExist"];

/** The path of a value, and the list that collects its problems. */
interface Place {
  readonly path: string;
  readonly problems: Problem[];
}

function toRequirement([key, value]: readonly [string, string]): Requirement {
  return { key, operator: "In", values: [value] };
}

/** This and the functions below collect problems. What they return is used only when there is none. */
function parseSource(value: unknown, { path, problems }: Place): LabelSelector {
  if (!isRecord(value)) {
    addProblem(problems, { path, message: `Cannot use ${quote(value)} as selector: must be an object` });
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
    addProblem(problems, { path, message: `Cannot use ${quote(value)} as labels: must be an object` });
    return null;
  }
  const labels: [string, string][] = [];
  for (const [key, label] of bound(Object.entries(value), { path, problems })) {
    // The API server ignores a label whose value is null.
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
    addProblem(problems, { path, message: `Cannot use ${quote(value)} as expression: must be an object` });
    return null;
  }
  checkFields(value, { path, problems, known: ["key", "operator", "values"] });
  const { key } = value;
  const hasKey = isKey(key, { path: `${path}.key`, problems });
  const operator = OPERATORS.find((known) => known === value.operator);
  const values = parseValues(value.values ?? null, { path: `${path}.values`, problems });
  if (operator === undefined) {
    const message = `Cannot use ${quote(value.operator)} as operator: must be In, NotIn, Exists or DoesNotExist`;
    addProblem(problems, { path: `${path}.operator`, message });
    return null;
  }
  const isSet = operator === "In" || operator === "NotIn";
  if (isSet && isEmptyList(value.values)) {
    addProblem(problems, { path: `${path}.values`, message: `Cannot use operator "${operator}": no values` });
  }
  if (!isSet && !isEmptyList(value.values)) {
    addProblem(problems, { path: `${path}.values`, message: `Cannot use operator "${operator}": it takes no values` });
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
  addProblem(problems, { path, message: `Cannot use ${quote(value)} as list` });
  return [];
}

function bound<T>(entries: readonly T[], { path, problems }: Place): readonly T[] {
  if (entries.length <= MAX_ENTRIES) return entries;
  addProblem(problems, { path, message: `Cannot use ${entries.length} entries: at most ${MAX_ENTRIES} are read` });
  return [];
}

function isEmptyList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isKey(key: unknown, { path, problems }: Place): key is string {
  const fault = typeof key === "string" ? findKeyFault(key) : "must be a string";
  if (fault !== null) addProblem(problems, { path, message: `Cannot use label key ${quote(key)}: ${fault}` });
  return fault === null;
}

function isValue(value: unknown, { path, problems }: Place): value is string {
  const fault = typeof value === "string" ? findValueFault(value) : "must be a string, in quotes";
  if (fault !== null) addProblem(problems, { path, message: `Cannot use label value ${quote(value)}: ${fault}` });
  return fault === null;
}

function checkFields(
  value: Readonly<Record<string, unknown>>,
  { path, problems, known }: Place & { readonly known: readonly string[] },
): void {
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue;
    const message = `Cannot use field ${quote(field)}: only ${known.join(", ")} are known`;
    addProblem(problems, { path: joinPath(path, field), message });
  }
}
