/** Decisions and lines in a few words. */
import { describeChange, listChanges } from "../../core/changes.ts";
import type { Decision } from "../../core/decision.ts";
import type { RecordLine } from "../../record/line.ts";
import { formatTime } from "../../units/time.ts";
import type { Difference } from "./differences.ts";

/** `scaleUp cpu.limits 100m -> 200m`, `hold InBand`. */
export function describeDecision(decision: Decision | null): string {
  if (decision === null) return "nothing decided";
  switch (decision.kind) {
    case "hold":
      return `hold ${decision.reason}`;
    case "blocked": {
      const would = /^would resize: (.*) \(mode: recommend\)$/.exec(decision.message)?.[1];
      return would === undefined ? `blocked ${decision.action} ${decision.reason}` : `${decision.action} ${would}`;
    }
    case "resize":
      return `${decision.action} ${
        describeChange(decision.from, decision.to, listChanges(decision.from, decision.to))
      }`;
    case "revert":
      return `revert ${decision.reason}`;
  }
}

/** `pod "shop/web" at 2026-11-20T11:03:15Z` */
export function describeLine({ kind, namespace, name, record }: RecordLine): string {
  return `${kind} "${namespace}/${name}" at ${formatAt(record.input.now)}`;
}

/** As the API writes times; what is none is written as it is. */
export function formatAt(at: number): string {
  return Math.abs(at) <= LAST_TIME ? formatTime(at) : String(at);
}

/** https://tc39.es/ecma262/#sec-time-values-and-time-range */
const LAST_TIME = 8.64e15;

/** Indented, one field after the other, no more than ten of them. */
export function describeDifferences(differences: readonly Difference[]): readonly string[] {
  const shown = differences.slice(0, MOST_SHOWN).flatMap(({ path, was, is }) => [
    `  outcome${path === "" ? "" : `.${path}`}`,
    `    was ${show(was)}`,
    `    is  ${show(is)}`,
  ]);
  const more = differences.length - MOST_SHOWN;
  return [...shown, ...(more > 0 ? [`  and ${more} more fields`] : [])];
}

const MOST_SHOWN = 10;
const MOST_CHARACTERS = 300;

function show(value: unknown): string {
  if (value === undefined) return "not there";
  const text = JSON.stringify(value, (_, one) => typeof one === "bigint" ? String(one) : one) ?? "not there";
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}...`;
}
