/** What a CPU limit hid, in words: for proposals, and for those who ask why nothing is wanted (L21). */
import { formatAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import type { Sample } from "../state.ts";

/** `, held back 60 % of the time: demand 420m`; empty while demand is what was used, and for memory. */
export function heldBackWords(resource: Resource, sample: Sample | null): string {
  if (resource !== "cpu" || sample === null) return "";
  const { heldBack, demandMillicores, cpuMillicores } = sample;
  const demand = Math.round(demandMillicores);
  if (heldBack === null || demand <= Math.round(cpuMillicores)) return "";
  return `, held back ${Math.round(heldBack * 100)} % of the time: demand ${formatAmount(demand, "cpu")}`;
}
