/** Which values does the chart have? Names, defaults and comments are those of values.yaml, types those of its schema. Pure. */
import { parse } from "../../lib/runtime/yaml.ts";
import { toCell, toCode, toPage, toTable, toText, toValue } from "./markdown.ts";

interface ValueSchema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly items?: ValueSchema;
}

interface Value {
  /** `limits.maxCpu` */
  readonly path: string;
  /** The lines of its comment. */
  readonly comment: readonly string[];
  /** It is only shown in a comment, because podfit has a default of its own. */
  readonly isUnset: boolean;
}

/** The page of all values: one table for those without a group, then one for each group. */
export function toHelmPage(values: string, schemaText: string): string {
  const schema = JSON.parse(schemaText) as ValueSchema;
  const defaults = parse(values);
  const listed = listValues(values, schema);
  const isGroup = (path: string) => listed.some((one) => one.path.startsWith(`${path}.`));
  const toRow = ({ path, comment, isUnset }: Value) => {
    const found = getSchema(schema, path);
    const shown = isUnset || isGroup(path) ? "" : `default ${toValue(getValue(defaults, path))}`;
    const meaning = toMeaning(comment.length > 0 ? comment : [found?.description ?? ""]);
    return [toCode(path), toCell(meaning, [toType(found), shown])];
  };
  const groups = listed.filter(({ path }) => !path.includes(".") && isGroup(path));
  const alone = listed.filter(({ path }) => !path.includes(".") && !isGroup(path));
  return toPage("Helm values", "`deploy/helm/values.yaml` and its schema", [
    "These are the values of podfit's chart. A misspelt value is an error. Values without a default have podfit's own.",
    toTable(["value", "meaning"], alone.map(toRow)),
    ...groups.flatMap(({ path, comment }) => {
      const rows = listed.filter((one) =>
        one.path.startsWith(`${path}.`) && !(isGroup(one.path) && one.comment.length === 0)
      );
      const text = toMeaning(comment.length > 0 ? comment : [getSchema(schema, path)?.description ?? ""]);
      return [`## ${path}`, text, toTable(["value", "meaning"], rows.map(toRow))];
    }),
  ]);
}

/** Every value, in the order of the file. */
export function listValues(text: string, schema: ValueSchema): readonly Value[] {
  const found: Value[] = [];
  const parents: { readonly indent: number; readonly key: string }[] = [];
  let comment: string[] = [];
  const add = (indent: number, key: string, isUnset: boolean) => {
    while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop();
    const path = [...parents.map((one) => one.key), key].join(".");
    if (getSchema(schema, path) === null) return false;
    found.push({ path, comment, isUnset });
    comment = [];
    parents.push({ indent, key });
    return true;
  };
  for (const line of text.split("\n")) {
    const [, space = "", mark, body = ""] = /^( *)(# ?)?(.*)$/.exec(line) ?? [];
    const [, more = "", key] = /^( *)([A-Za-z]\w*):(?: |$)/.exec(body) ?? [];
    if (body === "") comment = [];
    else if (mark === undefined) comment = key !== undefined && add(space.length, key, false) ? comment : [];
    else if (key === undefined || !add(space.length + more.length, key, true)) comment.push(body);
  }
  return found;
}

function getSchema(schema: ValueSchema, path: string): ValueSchema | null {
  return path.split(".").reduce<ValueSchema | null>((at, key) => at?.properties?.[key] ?? null, schema);
}

function getValue(values: unknown, path: string): unknown {
  return path.split(".").reduce((at, key) => (at as Readonly<Record<string, unknown>>)[key], values);
}

function toType(schema: ValueSchema | null): string {
  const { type = "any", enum: choices, items } = schema ?? {};
  if (choices !== undefined) {
    return choices.map((one) => toValue(one)).join(", ");
  }
  if (type === "array") return items?.type === undefined ? "list" : `list of ${toType(items)}s`;
  return [type].flat().join(" or ");
}

/** A comment as one cell: an indented line of the form `word  meaning` begins a new line. */
function toMeaning(lines: readonly string[]): string {
  const parts = lines.reduce<string[]>((all, line) => {
    const [, word, meaning] = /^ {2}(\S+) {2,}(.*)$/.exec(line) ?? [];
    const last = all.at(-1);
    if (word !== undefined) all.push(`\`${word}\`: ${meaning}`);
    else if (last === undefined) all.push(line);
    else all[all.length - 1] = `${last} ${line.trim()}`;
    return all;
  }, []);
  return parts.map(toText).join("<br>");
}
