/**
 * Which objects does a list give, in which order, and at which version?
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { findKeyFault, findValueFault, matches, type Requirement } from "../../../units/selector.ts";
import { at, type JsonObject, textAt } from "../../json.ts";
import { getLabels, KEY_RULE, VALUE_RULE } from "../kinds/names.ts";
import type { ResourceType } from "../kinds/resource_type.ts";
import {
  badMatch,
  badOptions,
  badRequest,
  expired,
  invalidValue,
  notAVersion,
  type Problem,
  type Refusal,
  tooLargeVersion,
  unsupportedValue,
} from "../refusal.ts";
import type { Collection, Entry } from "../store.ts";

/** Lists collections, page by page where a limit is asked for. */
export class Lister {
  readonly #now: () => number;
  readonly #snapshots = new Map<string, Snapshot>();
  #made = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  list(
    collection: Collection,
    { query, selection, version }: {
      readonly query: URLSearchParams;
      readonly selection: Selection;
      /** The newest. */
      readonly version: number;
    },
  ): ListPage {
    const limit = parseLimit(query.get("limit"));
    const token = query.get("continue") ?? "";
    checkMatch(query);
    if (token !== "") return this.#page(token, limit);
    checkVersion(query, version);
    const entries = collection.list(selection).filter(({ object }) => selection.isSelected(object));
    if (limit === 0 || entries.length <= limit) return { entries, version, continueToken: null, remaining: null };
    const id = String(++this.#made);
    const isWhole = !query.get("labelSelector") && !query.get("fieldSelector");
    this.#snapshots.set(id, { entries, version, isWhole, expiresAt: this.#now() + SNAPSHOT_MS });
    this.#forget();
    return this.#page(toToken({ id, start: 0 }), limit);
  }

  /** Every list under way has to start again. */
  expire(): void {
    this.#snapshots.clear();
  }

  #page(token: string, limit: number): ListPage {
    const { id, start } = parseToken(token);
    this.#forget();
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined) throw expired(TOO_OLD);
    const { entries, version, isWhole } = snapshot;
    const end = limit === 0 ? entries.length : start + limit;
    const remaining = Math.max(0, entries.length - end);
    const continueToken = remaining === 0 ? null : toToken({ id, start: end });
    const shown = isWhole && remaining > 0 ? remaining : null;
    return { entries: entries.slice(start, end), version, continueToken, remaining: shown };
  }

  #forget(): void {
    for (const [id, { expiresAt }] of this.#snapshots) {
      if (expiresAt <= this.#now() || this.#snapshots.size > MAX_SNAPSHOTS) this.#snapshots.delete(id);
    }
  }
}

/**
 * The objects that a list or watch is about.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api
 */
export interface Selection {
  readonly namespace: string | null;
  /** The node that the selector names, so that its pods are found at once; `null` where it names none. */
  readonly node: string | null;
  readonly isSelected: (object: JsonObject) => boolean;
}

/** Reads the selectors of a query. Throws a Refusal for one that cannot be read. */
export function parseSelection(
  query: URLSearchParams,
  { type, namespace }: { readonly type: ResourceType; readonly namespace: string | null },
): Selection {
  const requirements = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "", type);
  const selector = { requirements, source: {} };
  const node = fields.find(({ path, isEqual }) => isEqual && path === "spec.nodeName")?.value || null;
  const isSelected = (object: JsonObject) =>
    (namespace === null || textAt(object, "metadata", "namespace") === namespace) &&
    (requirements.length === 0 || matches(selector, getLabels(object))) &&
    fields.every(({ path, value, isEqual }) => (getFieldText(object, path) === value) === isEqual);
  return { namespace, node, isSelected };
}

/** A page of a list. */
interface ListPage {
  readonly entries: readonly Entry[];
  readonly version: number;
  readonly continueToken: string | null;
  readonly remaining: number | null;
}

/** The entries that were there when a paged list began. They are kept for five minutes, as etcd does. */
interface Snapshot {
  readonly entries: readonly Entry[];
  readonly version: number;
  /** True without a selector: only then a page says how many remain. */
  readonly isWhole: boolean;
  readonly expiresAt: number;
}

const SNAPSHOT_MS = 300_000;

const MAX_SNAPSHOTS = 64;

const TOO_OLD = "The provided continue parameter is too old to display a consistent list result. You can start a new " +
  "list without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
  "results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, " +
  "or deleted between the time the first chunk was returned and now may show up in the list.";

function parseLimit(text: string | null): number {
  if (text === null || text === "") return 0;
  if (!/^\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}

function checkMatch(query: URLSearchParams): void {
  const [match, asked] = [query.get("resourceVersionMatch") ?? "", query.get("resourceVersion") ?? ""];
  if (match === "") return;
  if (query.get("continue")) throw badMatch("resourceVersionMatch is forbidden when continue is provided");
  if (asked === "") throw badMatch("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (!MATCHES.includes(match)) throw badOptions(unsupportedValue("resourceVersionMatch", match, [...MATCHES, ""]));
  if (match === "Exact" && asked === "0") {
    throw badMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}

const MATCHES = ["Exact", "NotOlderThan"];

/** Only the newest version is kept. It serves a request for some version at least; an exact older one is gone. */
function checkVersion(query: URLSearchParams, version: number): void {
  const asked = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  if (asked === "" || asked === "0") return;
  if (!/^\d+$/.test(asked)) throw badRequest(`invalid resource version: ${notAVersion(asked)}`);
  if (Number(asked) > version) throw tooLargeVersion(asked, version);
  const isExact = match === "Exact" || (match === "" && query.get("limit") !== null);
  if (isExact && Number(asked) < version) throw expired("The resourceVersion for the provided list is too old.");
}

function toToken(place: { readonly id: string; readonly start: number }): string {
  return btoa(JSON.stringify(place)).replace(/=+$/, "");
}

function parseToken(token: string): { readonly id: string; readonly start: number } {
  try {
    const { id, start } = JSON.parse(atob(token));
    if (typeof id === "string" && Number.isSafeInteger(start)) return { id, start };
  } catch {
    // The refusal below says so.
  }
  throw badRequest("invalid continue token: continue key is not valid");
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
function getFieldText(object: JsonObject, path: string): string {
  // An event's reporter: selected by the name of either way to write it.
  const from = path === "source" ? ["source", "component"] : path.split(".");
  const value = at(object, ...from) ?? (path === "spec.unschedulable" ? false : "");
  return typeof value === "object" ? "" : String(value);
}

function splitOutsideParentheses(text: string): readonly string[] {
  return (text.match(/(?:\([^()]*\)?|[^,()]|\))+/g) ?? []).map((part) => part.trim()).filter((part) => part !== "");
}
