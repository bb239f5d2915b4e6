/** What does the server demand of names, labels and other metadata? */
import { findKeyFault, findValueFault } from "../../../units/selector.ts";
import { type JsonObject, objectAt, textAt, textsAt } from "../../json.ts";
import { forbiddenField, invalidValue, type Problem, required } from "../refusal.ts";

/** The problems of an object's name, labels and finalizers. */
export function validateMetadata(object: JsonObject): readonly Problem[] {
  const name = textAt(object, "metadata", "name");
  const problems: Problem[] = [];
  if (name === "") problems.push(required("metadata.name", "name or generateName is required"));
  else if (!isSubdomain(name) && !isRbac(object)) problems.push(invalidValue("metadata.name", name, SUBDOMAIN_RULE));
  return [
    ...problems,
    ...validateLabels(objectAt(object, "metadata", "labels"), "metadata.labels"),
    ...textsAt(object, "metadata", "finalizers").flatMap((one, index) =>
      one.includes("/") || STANDARD_FINALIZERS.includes(one) || (isCustom(object) && findKeyFault(one) === null)
        ? []
        : [invalidValue(`metadata.finalizers[${index}]`, one, FINALIZER_RULE)]
    ),
  ];
}

/** Finalizers of custom resources need no domain, as KEDA's `finalizer.keda.sh` has none. */
function isCustom(object: JsonObject): boolean {
  const [group = ""] = textAt(object, "apiVersion").split("/");
  return group.includes(".") && !group.endsWith(".k8s.io");
}

/** An object that is being deleted takes no new finalizer. */
export function validateFinalizers(object: JsonObject, before: JsonObject): readonly Problem[] {
  if (textAt(before, "metadata", "deletionTimestamp") === "") return [];
  const had = textsAt(before, "metadata", "finalizers");
  const added = textsAt(object, "metadata", "finalizers").filter((one) => !had.includes(one));
  if (added.length === 0) return [];
  const names = added.map((one) => JSON.stringify(one)).join(", ");
  const why = "no new finalizers can be added if the object is being deleted, found new finalizers";
  const problem = forbiddenField("metadata.finalizers", `${why} []string{${names}}`);
  // The real server reports it twice.
  return [problem, problem];
}

const STANDARD_FINALIZERS = ["foregroundDeletion", "kubernetes", "orphan"];

const FINALIZER_RULE = "name is neither a standard finalizer name nor is it fully qualified";

/** The problems of labels that stand at this field. */
export function validateLabels(labels: JsonObject, field: string): readonly Problem[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...(findKeyFault(key) === null ? [] : [invalidValue(field, key, KEY_RULE)]),
    ...(typeof value === "string" && findValueFault(value) === null ? [] : [invalidValue(field, value, VALUE_RULE)]),
  ]);
}

/** The labels of an object that are texts. */
export function getLabels(object: JsonObject): Readonly<Record<string, string>> {
  const labels = Object.entries(objectAt(object, "metadata", "labels"));
  return Object.fromEntries(labels.filter((label): label is [string, string] => typeof label[1] === "string"));
}

/** Is this a DNS label of RFC 1123, such as the name of a namespace? */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
}

/** The API server's message for a name that is not a DNS label. */
export const DNS_LABEL_RULE = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation " +
  "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** The API server's message for a key that is not valid in labels. */
export const KEY_RULE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** The API server's message for a value that is not valid in labels. */
export const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
  "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
  "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** Is this a DNS subdomain of RFC 1123, such as the name of most objects? */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text);
}

/** Roles and bindings may be named `system:node` and the like. */
function isRbac(object: JsonObject): boolean {
  return textAt(object, "apiVersion").startsWith("rbac.authorization.k8s.io/");
}
