/**
 * Which objects does a list or watch ask for? Reads `labelSelector` and `fieldSelector` of a query, with a real server's
 * refusals.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api
 */
import { findKeyFault, findValueFault } from "../../../units/labels.ts";
import { matches, type Requirement } from "../../../units/selector.ts";
import { at, type JsonObject, textAt } from "../../json.ts";
import { KEY_RULE, readLabels, VALUE_RULE } from "../kinds/names.ts";
import { badRequest, invalidValue, type Problem, type Refusal } from "../refusal.ts";
import type { ResourceType } from "../kinds/resource_type.ts";

/** The objects that a list or watch is about. */
export interface Selection {
  readonly namespace: string | null;
  /** The node that the selector names, so that its pods are found at once; `null` where it names none. */
  readonly node: string | null;
  readonly isSelected: (object: JsonObject) => boolean;
}

/** Reads the selectors of a query. Throws a Refusal for one that cannot be read. */
export function readSelection(
  query: URLSearchParams,
  { type, namespace }: { readonly type: ResourceType; readonly namespace: string | null },
): Selection {
  const requirements = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "", type);
  const selector = { requirements, source: {} };
  const node = fields.find(({ path, isEqual }) => isEqual && path === "spec.nodeName")?.value || null;
  const isSelected = (object: JsonObject) =>
    (namespace === null || textAt(object, "metadata", "namespace") === namespace) &&
    (requirements.length === 0 || matches(selector, readLabels(object))) &&
    fields.every(({ path, value, isEqual }) => (readField(object, path) === value) === isEqual);
  return { namespace, node, isSelected };
}

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k` */
function parseLabelSelector(text: string): readonly Requirement[] {
  return splitOutsideParentheses(text).map((part) => {
    const requirement = parseRequirement(part);
    const { key, values } = requirement;
    if (findKeyFault(key) !== null) throw cannotParse(invalidValue("<nil>", key, KEY_RULE));
    const index = values.findIndex((value) => findValueFault(value) !== null);
    if (index >= 0) throw cannotParse(invalidValue(`values[${index}][${key}]`, values[index], VALUE_RULE));
    return requirement;
  });
}

function cannotParse({ field, message }: Problem): Refusal {
  return badRequest(`unable to parse requirement: ${field}: ${message}`);
}

function parseRequirement(part: string): Requirement {
  const [, key = "", operator = "", list = ""] = /^([^\s!=(),]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part) ?? [];
  if (key !== "") {
    const values = list.split(",").map((value) => value.trim());
    return { key, operator: operator === "in" ? "In" : "NotIn", values };
  }
  const [, left = "", sign = "", right = ""] = /^([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)$/.exec(part) ?? [];
  if (left !== "") return { key: left, operator: sign === "!=" ? "NotIn" : "In", values: [right] };
  const [, not = "", name = ""] = /^(!?)\s*([^\s!=(),]+)$/.exec(part) ?? [];
  if (name !== "") return { key: name, operator: not === "!" ? "DoesNotExist" : "Exists", values: [] };
  throw badRequest(`unable to parse requirement: cannot read '${part}'`);
}

interface FieldRequirement {
  readonly path: string;
  readonly value: string;
  readonly isEqual: boolean;
}

function parseFieldSelector(text: string, type: ResourceType): readonly FieldRequirement[] {
  return text.split(",").filter((part) => part !== "").map((part) => {
    const [, path = "", sign = "", value = ""] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part) ?? [];
    if (path === "") throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    const known = ["metadata.name", ...(type.isNamespaced ? ["metadata.namespace"] : []), ...type.selectableFields];
    if (!known.includes(path)) throw badRequest(`field label not supported: ${path}`);
    return { path, value, isEqual: sign !== "!=" };
  });
}

/** The field as text. A missing one is empty, and a missing flag is false. */
function readField(object: JsonObject, path: string): string {
  // An event's reporter: selected by the name of either way to write it.
  const from = path === "source" ? ["source", "component"] : path.split(".");
  const value = at(object, ...from) ?? (path === "spec.unschedulable" ? false : "");
  return typeof value === "object" ? "" : String(value);
}

function splitOutsideParentheses(text: string): readonly string[] {
  return (text.match(/(?:\([^()]*\)?|[^,()]|\))+/g) ?? []).map((part) => part.trim()).filter((part) => part !== "");
}
