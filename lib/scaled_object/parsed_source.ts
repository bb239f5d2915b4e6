/** What the parser of one type of trigger gives, and what it may look at. */
import { toMilli } from "../units/milli.ts";
import { quote } from "../units/untrusted.ts";
import type { Metadata } from "./metadata.ts";
import type { Source } from "./trigger.ts";

export interface ParsedSource {
  readonly source: Source;
  /** The metric's name without index, not yet normalized (R18). */
  readonly metric: string;
  /** `null` only where a formula has a target of its own (R60). */
  readonly targetMilli: bigint | null;
  readonly activation: number;
}

export interface SourceContext {
  /** The namespace of the ScaledObject. */
  readonly namespace: string;
  readonly hasFormula: boolean;
  /** There is an authenticationRef. */
  readonly hasAuthentication: boolean;
}

/** Problems are reported to the metadata; `null` where nothing could be returned. Never throws. */
export type ParseSource = (metadata: Metadata, context: SourceContext) => ParsedSource | null;

/** Gives a target in thousandths (R17). Beside a formula it does not count, so there it may be anything that is a number. */
export function readTarget(metadata: Metadata, key: string, hasFormula: boolean): bigint | null {
  const target = metadata.number(key);
  if (target === null) return null;
  const milli = toMilli(target);
  if (milli > 0n) return milli;
  const why = target > 0 ? "it counts with 3 decimals, where it is 0; use 0.0005 or more" : "must be greater than 0";
  if (!hasFormula) metadata.report(key, `Cannot use ${key} ${quote(metadata.text(key))}: ${why}`);
  return null;
}
