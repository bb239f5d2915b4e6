/**
 * Label selectors (metav1.LabelSelector) that were parsed by `parse_selector.ts`: matched against labels, and printed
 * as `kubectl -l` takes them. An empty selector matches every pod, as in Kubernetes.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */

export type Operator = "In" | "NotIn" | "Exists" | "DoesNotExist";

/** One condition on one label; `values` is empty for Exists and DoesNotExist. */
export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** A selector as the API has it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelExpression[];
}

export interface LabelExpression {
  readonly key: string;
  readonly operator: Operator;
  readonly values?: readonly string[];
}

/** A parsed selector. */
export interface Selector {
  /** Sorted by key; labels match when they meet all of them. */
  readonly requirements: readonly Requirement[];
  /** The selector as it was written, for `status.effectiveSelector`; fields that were null are left out. */
  readonly source: LabelSelector;
}

/** Says whether labels meet every requirement of a selector. */
export function matches(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return selector.requirements.every((requirement) => isMet(requirement, labels));
}

/** Says whether a selector has no requirement and so matches everything. */
export function isEmptySelector(selector: Selector): boolean {
  return selector.requirements.length === 0;
}

/** Writes a selector as `kubectl -l` takes it: `app=web,tier in (back,front),!legacy`. */
export function formatSelector(selector: Selector): string {
  return selector.requirements.map(formatRequirement).join(",");
}

/** A pod without the label meets NotIn. Own properties only: a label may be named `constructor`. */
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
