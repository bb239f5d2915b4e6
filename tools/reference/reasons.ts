/** What does each reason, condition and event mean, and what should people do? Made from the tables of lib. Pure. */
import { ERROR_MEANINGS } from "../../lib/daemon/metrics/families.ts";
import {
  AUTOSCALER_CONDITION_MEANINGS,
  AUTOSCALER_CONDITIONS,
  SCALED_OBJECT_CONDITION_MEANINGS,
  SCALED_OBJECT_CONDITIONS,
} from "../../lib/model/meanings/conditions.ts";
import { EVENT_MEANINGS, REPLICAS_EVENT_MEANINGS } from "../../lib/model/meanings/events.ts";
import { type Entry, REPLICAS_MEANINGS, RESIZE_MEANINGS, SIZE_MEANINGS } from "../../lib/model/meanings/reasons.ts";
import { LIMIT_REASONS, NOTICES } from "../../lib/model/reasons.ts";
import { REPLICAS_NOTICES } from "../../lib/model/replicas_decision.ts";
import { toCode, toPage, toTable, toText } from "./markdown.ts";

const ALERTS: Readonly<Record<Entry["alert"], string>> = { no: "no", lasting: "if it lasts 15 min", yes: "yes" };

/** The page of all words, by where they appear. */
export function toReasonsPage(): string {
  return toPage("Reasons, conditions and events", "`lib/model/meanings`", [
    "Logs, events, conditions, metrics and `podfit explain` use the same words. Find a word here with the search of your " +
    "browser. To learn why one pod has its size, run `podfit explain POD`.",
    "## Why a pod keeps its size",
    '"It" is the container or its pod. With one of these reasons the condition `Limited` is True, because a pod that ' +
    `needs more cannot get it: ${LIMIT_REASONS.map(toCode).join(", ")}.`,
    toEntryTable("reason", SIZE_MEANINGS),
    "A resize that does not follow from usage has a reason too.",
    toEntryTable("reason", RESIZE_MEANINGS),
    "## Why a workload has its replicas",
    '"It" is the workload.',
    toEntryTable("reason", REPLICAS_MEANINGS),
    "## Conditions of a PodResourceAutoscaler",
    toTable(["condition", "True means"], toRows(AUTOSCALER_CONDITIONS)),
    "The condition `Limited` is True with the reason of the first pod, see above. The other reasons:",
    toConditionTable(AUTOSCALER_CONDITION_MEANINGS),
    "## Conditions of a ScaledObject",
    toTable(["condition", "True means"], toRows(SCALED_OBJECT_CONDITIONS)),
    toConditionTable(SCALED_OBJECT_CONDITION_MEANINGS),
    "## Events of a PodResourceAutoscaler",
    "Each name has the prefix `PodResourceAutoscaler`. ScaleUp, ScaleDown, Inherited, ResizeMayRestart, OOMKilled, " +
    "Limited, and ResizePending for a resize that is taken back, are written on the pod too.",
    toEventTable(EVENT_MEANINGS, NOTICES),
    "## Events of a ScaledObject",
    toEventTable(REPLICAS_EVENT_MEANINGS, REPLICAS_NOTICES),
    "## Errors that only a metric counts",
    "`kedify_agent_pra_error_total` has the reasons of refused resizes, and these:",
    toEntryTable("reason", ERROR_MEANINGS),
  ]);
}

type Entries = Readonly<Record<string, Entry>>;

function toEntryTable(head: string, entries: Entries): string {
  return toTable([head, ...HEAD], Object.entries(entries).map(([word, entry]) => [toCode(word), ...toCells(entry)]));
}

function toConditionTable(entries: Readonly<Record<string, Entry & { readonly in: readonly string[] }>>): string {
  const rows = Object.entries(entries).map(([word, entry]) => [
    toCode(word),
    entry.in.map(toCode).join(", "),
    ...toCells(entry),
  ]);
  return toTable(["reason", "in", ...HEAD], rows);
}

function toEventTable(entries: Entries, types: Readonly<Record<string, string>>): string {
  const rows = Object.entries(entries).map(([word, entry]) => [toCode(word), types[word] ?? "", ...toCells(entry)]);
  return toTable(["event", "type", ...HEAD], rows);
}

const HEAD = ["meaning", "what to do", "alert"];

function toCells({ means, act, alert }: Entry): readonly string[] {
  const text = toText(means);
  return [`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, toText(act), ALERTS[alert]];
}

function toRows(texts: Readonly<Record<string, string>>): readonly (readonly string[])[] {
  return Object.entries(texts).map(([name, text]) => [toCode(name), toText(text)]);
}
