/** Parses spec.triggers: each by its type, and what they must not have in common (R4). */
import type { Fields } from "../units/fields.ts";
import { quote } from "../units/untrusted.ts";
import { parseTrigger } from "./parse_trigger.ts";
import type { Trigger } from "./trigger.ts";
import { isResourceType, type TriggersContext } from "./trigger_context.ts";

export interface ParsedTriggers {
  readonly triggers: readonly Trigger[];
  /** The type of each trigger that has one, valid or not. */
  readonly types: readonly string[];
  /** How the external triggers are called that a formula may use. */
  readonly names: readonly string[];
  readonly hasCached: boolean;
}

/** All are asked at once, every 15 s. */
const MAX_TRIGGERS = 50;

/** Gives the triggers that are valid, and what is known of the others. Problems are reported to `spec`; never throws. */
export function parseTriggers(spec: Fields, context: TriggersContext): ParsedTriggers {
  const list = spec.get("triggers") ?? [];
  if (!Array.isArray(list) || (list.length === 0 && spec.has("triggers"))) {
    spec.report(
      "triggers",
      `Cannot use ${Array.isArray(list) ? "an empty list" : quote(list)} as triggers: must be a list of at least one`,
    );
  }
  if (Array.isArray(list) && list.length > MAX_TRIGGERS) {
    spec.report(
      "triggers",
      `Cannot use ${list.length} triggers: must be at most ${MAX_TRIGGERS}, split the object or add up in a query`,
    );
  }
  const entries = (Array.isArray(list) ? list.slice(0, MAX_TRIGGERS) : []).map((value, index) =>
    spec.entry("triggers", { index, value })
  );
  const opened = entries.filter((fields) => fields !== null);
  reportTwins(opened);
  return {
    triggers: entries.flatMap((fields, index) => {
      const trigger = fields === null ? null : parseTrigger(fields, { ...context, index });
      return trigger === null ? [] : [trigger];
    }),
    types: opened.map((fields) => fields.get("type")).filter((type) => typeof type === "string"),
    names: opened.filter((fields) => !isResourceType(fields.get("type"))).map(nameOf).filter((name) => name !== null),
    hasCached: opened.some((fields) => fields.get("useCachedMetrics") === true),
  };
}

/** Reports each trigger whose name an earlier one has. */
function reportTwins(triggers: readonly Fields[]): void {
  const first = new Map<string, Fields>();
  for (const fields of triggers) {
    const name = nameOf(fields);
    const other = name === null ? undefined : first.get(name);
    if (name !== null && other === undefined) first.set(name, fields);
    if (other !== undefined) {
      fields.report(
        "name",
        `Cannot use name ${quote(name)} twice: ${other.path} has it, a formula could not tell them apart`,
      );
    }
  }
}

function nameOf(fields: Fields): string | null {
  const name = fields.get("name");
  return typeof name === "string" && name !== "" ? name : null;
}
