/**
 * Parses label selectors as `kubectl -l` takes them: the text that a scale has in status.selector, and `podSelector` of triggers.
 * The grammar is that of k8s.io/apimachinery/pkg/labels.Parse; its `>` and `<` are refused, as no selector of an API object has them.
 */
import { findKeyFault, findValueFault } from "./labels.ts";
import type { ParsedSelector } from "./parse_selector.ts";
import type { Problem } from "./problem.ts";
import type { Operator, Requirement } from "./selector.ts";
import { quote } from "./untrusted.ts";

/** Parses a selector that stands at `path`; an empty text matches everything. Never throws; it has one problem at most. */
export function parseSelectorText(text: string, path: string): ParsedSelector {
  const refuse = (fault: string): ParsedSelector => {
    const problem: Problem = { path, message: `Cannot parse selector ${quote(text)}: ${fault}` };
    return { ok: false, problems: [problem] };
  };
  if (text.length > MAX_LENGTH) return refuse(`it is longer than ${MAX_LENGTH} characters`);
  const tokens = new Tokens(text);
  const requirements: Requirement[] = [];
  try {
    while (tokens.peek() !== END) {
      requirements.push(takeRequirement(tokens));
      if (tokens.peek() === END) break;
      tokens.expect(",");
      if (tokens.peek() === END) return refuse("a label is expected after the last comma");
    }
  } catch (error) {
    if (error instanceof Fault) return refuse(error.message);
    throw error;
  }
  requirements.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  const matchExpressions = requirements.map(({ values, ...rest }) => ({
    ...rest,
    ...(values.length > 0 && { values }),
  }));
  return { ok: true, selector: { requirements, source: { matchExpressions } } };
}

/** Far above any real selector. */
const MAX_LENGTH = 64 * 1024;
/** No token is empty. */
const END = "";

class Fault extends Error {}

/** The text, token by token: the marks of the grammar, and the words between them. */
class Tokens {
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
    if (token !== mark) throw new Fault(`found ${quote(token)}, expected "${mark}"`);
  }
}

function takeRequirement(tokens: Tokens): Requirement {
  if (tokens.peek() === "!") {
    tokens.take();
    return { key: takeKey(tokens), operator: "DoesNotExist", values: [] };
  }
  const key = takeKey(tokens);
  const next = tokens.peek();
  if (next === END || next === ",") return { key, operator: "Exists", values: [] };
  const operator = OPERATORS.get(tokens.take());
  if (operator === undefined) {
    throw new Fault(`found ${quote(next)}, expected one of ${[...OPERATORS.keys()].join(" ")}`);
  }
  return { key, operator, values: next === "in" || next === "notin" ? takeValues(tokens) : [takeValue(tokens)] };
}

const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ["=", "In"],
  ["==", "In"],
  ["in", "In"],
  ["!=", "NotIn"],
  ["notin", "NotIn"],
]);

function takeKey(tokens: Tokens): string {
  const key = tokens.take();
  const fault = key === "in" || key === "notin" ? "it is an operator" : findKeyFault(key);
  if (fault !== null) throw new Fault(`label key ${quote(key)}: ${fault}`);
  return key;
}

/** None at all is the empty value. */
function takeValue(tokens: Tokens): string {
  const next = tokens.peek();
  const value = next === END || next === "," || next === ")" ? "" : tokens.take();
  const fault = findValueFault(value);
  if (fault !== null) throw new Fault(`label value ${quote(value)}: ${fault}`);
  return value;
}

function takeValues(tokens: Tokens): readonly string[] {
  tokens.expect("(");
  if (tokens.peek() === ")") throw new Fault("a list has no values");
  const values = new Set([takeValue(tokens)]);
  while (tokens.peek() === ",") {
    tokens.take();
    values.add(takeValue(tokens));
  }
  tokens.expect(")");
  return [...values].toSorted();
}
