/** Parses triggers of kubernetes-workload (R12). */
import { parseSelectorText } from "../units/parse_selector_text.ts";
import type { Selector } from "../units/selector.ts";
import type { Metadata } from "./metadata.ts";
import { type ParsedSource, readTarget, type SourceContext } from "./parsed_source.ts";

export const WORKLOAD_KEYS = ["podSelector", "value", "activationValue", "groupByNode"];

/** Gives the source; `null` where something is wrong, which is reported to the metadata. Never throws. */
export function parseWorkloadSource(metadata: Metadata, { namespace, hasFormula }: SourceContext): ParsedSource | null {
  metadata.require(hasFormula ? ["podSelector"] : ["podSelector", "value"]);
  const selector = readSelector(metadata);
  const targetMilli = readTarget(metadata, "value", hasFormula);
  const activation = metadata.number("activationValue") ?? 0;
  const isByNode = metadata.boolean("groupByNode") ?? false;
  if (selector === null) return null;
  return {
    source: { kind: "kubernetes-workload", selector, isByNode },
    metric: `workload-${namespace}`,
    targetMilli,
    activation,
  };
}

function readSelector(metadata: Metadata): Selector | null {
  const text = metadata.text("podSelector");
  if (text === null) return null;
  const parsed = parseSelectorText(text, `${metadata.path}.podSelector`);
  if (parsed.ok) return parsed.selector;
  for (const problem of parsed.problems) metadata.add(problem);
  return null;
}
