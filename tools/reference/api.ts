/** Which fields do podfit's resources have? One section for each object of a CRD's schema. Pure. */
import { toCell, toCode, toHeadingLink, toLine, toPage, toTable, toValue } from "./markdown.ts";

/** A schema of a CRD, as far as the page shows it. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-validations"?: readonly { readonly message?: string }[];
}

/** What the page shows of a CRD. */
export interface Crd {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
      readonly additionalPrinterColumns?: readonly Column[];
    }[];
  };
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly description?: string;
  readonly priority?: number;
}

/** The page of all kinds, in their order. */
export function toApiPage(crds: readonly Crd[]): string {
  const known = new Map<string, string>();
  const kinds = crds.map(({ spec: { names: { kind } } }) => `- [${kind}](${toHeadingLink(kind)})`).join("\n");
  const intro =
    "These are the fields of podfit's resources, with their types and defaults. `kubectl explain pra.spec " +
    "--recursive` shows the same in a terminal.";
  return toPage("API reference", "the CRDs in `crds/`", [intro, kinds, ...crds.flatMap((crd) => toKind(crd, known))]);
}

function toKind({ spec: { group, scope, names, versions } }: Crd, known: Map<string, string>): readonly string[] {
  const [version] = versions;
  if (version === undefined) throw new Error(`Cannot read CRD "${names.kind}": it has no version`);
  const { openAPIV3Schema: schema } = version.schema;
  const facts = [
    `apiVersion: \`${group}/${version.name}\``,
    `${scope.toLowerCase()} scope`,
    `\`kubectl get ${names.plural}\`, or \`${names.shortNames?.[0] ?? names.plural}\` for short`,
  ].join("; ");
  const parts = ["spec", "status"].flatMap((name) => {
    const part = schema.properties?.[name];
    if (part === undefined) return [];
    // Two kinds with the same fields are described once.
    const text = JSON.stringify(part);
    const other = known.get(`${name} ${text}`);
    const heading = `${names.kind} ${name}`;
    if (other !== undefined) return [`### ${heading}`, `The same fields as [${other}](${toHeadingLink(other)}).`];
    known.set(`${name} ${text}`, heading);
    return toSections(heading, part);
  });
  const columns = version.additionalPrinterColumns ?? [];
  return [
    `## ${names.kind}`,
    toLine(schema.description ?? ""),
    `${facts}.`,
    ...parts,
    ...toColumns(names.kind, columns),
  ];
}

function toColumns(kind: string, columns: readonly Column[]): readonly string[] {
  const rows = columns.map(({ name, description = "", priority = 0 }) => [
    toCode(name.toUpperCase()),
    priority > 0 ? "with `-o wide`" : "",
    toLine(description),
  ]);
  return [`### ${kind} columns`, "The columns of `kubectl get`.", toTable(["column", "shown", "meaning"], rows)];
}

/** The section of an object, and those of the objects in it. */
function toSections(heading: string, schema: Schema): readonly string[] {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties);
  const rows = fields.map(([name, field]) => {
    const inner = toInner(field);
    const link = inner === null ? "" : ` See [${name}](${toHeadingLink(toHeading(heading, name, field))}).`;
    const facts = [
      toType(field),
      required.includes(name) ? "required" : "",
      field.default === undefined ? "" : `default ${toValue(field.default)}`,
    ];
    return [toCode(name), toCell(toLine(field.description ?? "") + link, facts)];
  });
  return [
    `### ${heading}`,
    toLine(schema.description ?? ""),
    toTable(["field", "meaning"], rows),
    ...toRules(schema),
    ...fields.flatMap(([name, field]) => {
      const inner = toInner(field);
      return inner === null ? [] : toSections(toHeading(heading, name, field), inner);
    }),
  ];
}

function toHeading(parent: string, name: string, { type }: Schema): string {
  return `${parent}.${name}${type === "array" ? "[]" : ""}`;
}

/** The object in a field or in the items of a list, if its fields are known. */
function toInner(field: Schema): Schema | null {
  const inner = field.type === "array" ? field.items : field;
  return inner?.properties === undefined ? null : inner;
}

/** What the API server checks beyond types. */
function toRules({ "x-kubernetes-validations": rules = [] }: Schema): readonly string[] {
  const texts = new Set(rules.flatMap(({ message }) => message ?? []));
  return texts.size === 0 ? [] : ["Rules:", ...[...texts].map((text) => `- ${toLine(text)}`)];
}

function toType(field: Schema): string {
  const { type, items, additionalProperties, enum: values, minimum, maximum } = field;
  if (values !== undefined) return values.map((value) => toCode(String(value))).join(", ");
  if (type === "array") return `list of ${items === undefined ? "values" : toType(items)}`;
  if (typeof additionalProperties === "object") return `map of ${toType(additionalProperties)}`;
  if (field["x-kubernetes-int-or-string"]) {
    return messagesOf(field).includes("a quantity") ? "quantity" : "integer or string";
  }
  if (type === "string" && messagesOf(field).includes("a duration")) return "duration";
  if (minimum !== undefined && maximum !== undefined) return `${type}, ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${type}, from ${minimum}`;
  return field.format === "date-time" ? "time" : type ?? "any";
}

function messagesOf({ "x-kubernetes-validations": rules = [] }: Schema): string {
  return rules.map(({ message = "" }) => message).join(" ");
}
