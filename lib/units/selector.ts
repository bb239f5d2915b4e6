/**
 * Label selectors: as objects and as text, matched and formatted, with the rules for labels.
 *
 * All parsers accept any value, report every problem with its path as the API server would, and never throw.
 */
import { addProblem, isRecord, joinPath, measureJson, type Problem, quote } from "./untrusted.ts";

type Operator = "In" | "NotIn" | "Exists" | "DoesNotExist";

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
  /** Sorted by key; labels match if they meet all of them. */
  readonly requirements: readonly Requirement[];
  /** The selector as it was written, for `status.effectiveSelector`; fields that were null are left out. */
  readonly source: LabelSelector;
}

/**
 * Returns whether labels meet every requirement of a selector.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */
export function matches(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return selector.requirements.every((requirement) => isMet(requirement, labels));
}

/** Returns whether a selector has no requirement and so matches everything. */
export function isEmptySelector(selector: Selector): boolean {
  return selector.requirements.length === 0;
}

/** Writes a selector as `kubectl -l` accepts it: `app=web,tier in (back,front),!legacy`. */
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

type ParsedSelector =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Parses the selector at `path` of its object. It may be empty: the caller decides whether that is allowed. Accepts any
 * value and never throws.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#LabelSelector
 */
export function parseSelector(value: unknown, path: string): ParsedSelector {
  const problems: Problem[] = [];
  const source = parseSource(value, { path, problems });
  if (problems.length === 0 && measureJson(source, MAX_LENGTH) > MAX_LENGTH) {
    addProblem(problems, { path, message: `Cannot use selector: ${TOO_LONG}` });
  }
  if (problems.length > 0) return { ok: false, problems };
  const requirements: Requirement[] = [
    ...Object.entries(source.matchLabels ?? {}).map(toRequirement),
    ...(source.matchExpressions ?? []).map(({ key, operator, values = [] }) => ({ key, operator, values })),
  ];
  requirements.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  return { ok: true, selector: { requirements, source } };
}

/**
 * Bytes as JSON, and characters of a text. 20 labels of the greatest length fit. podfit keeps the selectors of all
 * workloads and PodDisruptionBudgets, and the API server limits them by the size of the object only.
 */
const MAX_LENGTH = 8 * 1024;

const TOO_LONG =
  `it is longer than ${MAX_LENGTH} characters, which podfit would have to keep: use fewer or shorter values`;

/** Far more than a real selector has, of matchLabels and of matchExpressions each. A longer list is refused unread. */
const MAX_REQUIREMENTS = 20;

/** The most values of one requirement. */
const MAX_VALUES = 100;

const EXPRESSION_OPERATORS: readonly Operator[] = ["In", "NotIn", "Exists", "DoesNotExist"];

/** The path of a value, and the list that collects its problems. */
interface SelectorPlace {
  readonly path: string;
  readonly problems: Problem[];
}

function toRequirement([key, value]: readonly [string, string]): Requirement {
  return { key, operator: "In", values: [value] };
}

/** This and the functions below collect problems. Their result is used only if there is none. */
function parseSource(value: unknown, { path, problems }: SelectorPlace): LabelSelector {
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

function parseLabels(value: unknown, { path, problems }: SelectorPlace): Readonly<Record<string, string>> | null {
  if (value === null) return null;
  if (!isRecord(value)) {
    addProblem(problems, { path, message: `Cannot use ${quote(value)} as labels: must be an object` });
    return null;
  }
  const labels: [string, string][] = [];
  for (const [key, label] of limitEntries(Object.entries(value), MAX_REQUIREMENTS, { path, problems })) {
    // The API server ignores a label whose value is null.
    if (label === null) continue;
    const hasKey = isKey(key, { path, problems });
    if (isValue(label, { path: joinPath(path, key), problems }) && hasKey) labels.push([key, label]);
  }
  return Object.fromEntries(labels);
}

function parseExpressions(value: unknown, { path, problems }: SelectorPlace): readonly LabelExpression[] | null {
  if (value === null) return null;
  return parseList(value, MAX_REQUIREMENTS, { path, problems })
    .flatMap((item, index) => parseExpression(item, { path: `${path}[${index}]`, problems }) ?? []);
}

function parseExpression(value: unknown, { path, problems }: SelectorPlace): LabelExpression | null {
  if (!isRecord(value)) {
    addProblem(problems, { path, message: `Cannot use ${quote(value)} as expression: must be an object` });
    return null;
  }
  checkFields(value, { path, problems, known: ["key", "operator", "values"] });
  const { key } = value;
  const hasKey = isKey(key, { path: `${path}.key`, problems });
  const operator = EXPRESSION_OPERATORS.find((known) => known === value.operator);
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

function parseValues(value: unknown, { path, problems }: SelectorPlace): readonly string[] | null {
  if (value === null) return null;
  return parseList(value, MAX_VALUES, { path, problems })
    .filter((item, index): item is string => isValue(item, { path: `${path}[${index}]`, problems }));
}

function parseList(value: unknown, max: number, { path, problems }: SelectorPlace): readonly unknown[] {
  if (Array.isArray(value)) return limitEntries(value, max, { path, problems });
  addProblem(problems, { path, message: `Cannot use ${quote(value)} as list` });
  return [];
}

function limitEntries<T>(entries: readonly T[], max: number, { path, problems }: SelectorPlace): readonly T[] {
  if (entries.length <= max) return entries;
  addProblem(problems, { path, message: `Cannot use ${entries.length} entries: at most ${max} are read` });
  return [];
}

function isEmptyList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isKey(key: unknown, { path, problems }: SelectorPlace): key is string {
  const fault = typeof key === "string" ? findKeyFault(key) : "must be a string";
  if (fault !== null) addProblem(problems, { path, message: `Cannot use label key ${quote(key)}: ${fault}` });
  return fault === null;
}

function isValue(value: unknown, { path, problems }: SelectorPlace): value is string {
  const fault = typeof value === "string" ? findValueFault(value) : "must be a string, in quotes";
  if (fault !== null) addProblem(problems, { path, message: `Cannot use label value ${quote(value)}: ${fault}` });
  return fault === null;
}

function checkFields(
  value: Readonly<Record<string, unknown>>,
  { path, problems, known }: SelectorPlace & { readonly known: readonly string[] },
): void {
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue;
    const message = `Cannot use field ${quote(field)}: only ${known.join(", ")} are known`;
    addProblem(problems, { path: joinPath(path, field), message });
  }
}

/**
 * Parses the text of a selector at `path`, as `kubectl -l` does, but without `>` and `<`. An empty text matches
 * everything. Returns at most one problem and never throws.
 */
export function parseSelectorText(text: string, path: string): ParsedSelector {
  const refuse = (fault: string): ParsedSelector => {
    const problem: Problem = { path, message: `Cannot parse selector ${quote(text)}: ${fault}` };
    return { ok: false, problems: [problem] };
  };
  if (text.length > MAX_LENGTH) return refuse(TOO_LONG);
  const tokens = new SelectorTokens(text);
  const requirements: Requirement[] = [];
  try {
    while (tokens.peek() !== END) {
      requirements.push(takeRequirement(tokens));
      if (tokens.peek() === END) break;
      tokens.expect(",");
      if (tokens.peek() === END) return refuse("a label is expected after the last comma");
    }
  } catch (error) {
    if (error instanceof SelectorTextError) return refuse(error.message);
    throw error;
  }
  requirements.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  const matchExpressions = requirements.map(({ values, ...rest }) => ({
    ...rest,
    ...(values.length > 0 && { values }),
  }));
  return { ok: true, selector: { requirements, source: { matchExpressions } } };
}

/** No token is empty. */
const END = "";

class SelectorTextError extends Error {}

/** The text as tokens: the marks of the grammar, and the words between them. */
class SelectorTokens {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = text.match(/==|!=|[!=(),<>]|[^\s!=(),<>]+/g) ?? [];
  }

  peek(): string {
    return this.#tokens[this.#next] ?? END;
  }

  take(): string {
    const token = this.peek();
    this.#next++;
    return token;
  }

  expect(mark: string): void {
    const token = this.take();
    if (token !== mark) throw new SelectorTextError(`found ${quote(token)}, expected "${mark}"`);
  }
}

function takeRequirement(tokens: SelectorTokens): Requirement {
  if (tokens.peek() === "!") {
    tokens.take();
    return { key: takeKey(tokens), operator: "DoesNotExist", values: [] };
  }
  const key = takeKey(tokens);
  const next = tokens.peek();
  if (next === END || next === ",") return { key, operator: "Exists", values: [] };
  const operator = TEXT_OPERATORS.get(tokens.take());
  if (operator === undefined) {
    throw new SelectorTextError(`found ${quote(next)}, expected one of ${[...TEXT_OPERATORS.keys()].join(" ")}`);
  }
  return { key, operator, values: next === "in" || next === "notin" ? takeValues(tokens) : [takeValue(tokens)] };
}

const TEXT_OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ["=", "In"],
  ["==", "In"],
  ["in", "In"],
  ["!=", "NotIn"],
  ["notin", "NotIn"],
]);

function takeKey(tokens: SelectorTokens): string {
  const key = tokens.take();
  const fault = key === "in" || key === "notin" ? "it is an operator" : findKeyFault(key);
  if (fault !== null) throw new SelectorTextError(`label key ${quote(key)}: ${fault}`);
  return key;
}

/** No value is the empty value. */
function takeValue(tokens: SelectorTokens): string {
  const next = tokens.peek();
  const value = next === END || next === "," || next === ")" ? "" : tokens.take();
  const fault = findValueFault(value);
  if (fault !== null) throw new SelectorTextError(`label value ${quote(value)}: ${fault}`);
  return value;
}

function takeValues(tokens: SelectorTokens): readonly string[] {
  tokens.expect("(");
  if (tokens.peek() === ")") throw new SelectorTextError("a list has no values");
  const values = new Set([takeValue(tokens)]);
  while (tokens.peek() === ",") {
    tokens.take();
    values.add(takeValue(tokens));
  }
  tokens.expect(")");
  return [...values].toSorted();
}

/**
 * Returns what is wrong with a label key such as `app.kubernetes.io/name`; `null` if nothing is. The length is checked
 * first, so a long text costs nothing.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
export function findKeyFault(key: string): string | null {
  if (key.length > MAX_PREFIX + 1 + MAX_NAME) return `longer than ${MAX_PREFIX + 1 + MAX_NAME} characters`;
  const slash = key.indexOf("/");
  const prefix = slash === -1 ? null : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix === "") return `nothing before the "/"`;
  if (prefix !== null && (prefix.length > MAX_PREFIX || !prefix.split(".").every((part) => DNS_PART.test(part)))) {
    return `the part before the "/" is not a DNS name in lower case`;
  }
  if (name === "") return "empty name";
  if (name.length > MAX_NAME) return `name longer than ${MAX_NAME} characters`;
  return NAME.test(name) ? null : `a name ${NAME_RULE}`;
}

/** Returns what is wrong with a label value; `null` if nothing is. An empty value is valid. */
export function findValueFault(value: string): string | null {
  if (value.length > MAX_NAME) return `longer than ${MAX_NAME} characters`;
  return value === "" || NAME.test(value) ? null : `a value ${NAME_RULE}`;
}

const MAX_PREFIX = 253;

const MAX_NAME = 63;

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/;

const NAME_RULE = `consists of letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`;

const DNS_PART = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
