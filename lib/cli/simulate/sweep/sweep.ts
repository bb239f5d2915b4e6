/** `podfit simulate --sweep`: tries many policies on one load, and ranks them. */
import type { NamedLoad } from "../../../simulate/load/load.ts";
import { writeDiagnostic, writeError } from "../../terminal/output.ts";
import { StartError } from "../../run/start_error.ts";
import { formatNumber } from "../compare.ts";
import { toLoads } from "../loads.ts";
import type { ManifestObjects } from "../objects.ts";
import type { SimulateOptions } from "../options.ts";
import { alignRows } from "../table.ts";
import { BUILT_IN, listCandidates, parseAxis } from "./grid.ts";
import { tryAll } from "./pool.ts";
import { createProgress } from "./progress.ts";
import { rank, type Ranked, type Scored } from "./rank.ts";
import { shareLoad, type Trial } from "./try_policy.ts";

/** What is swept. */
export interface Sweep {
  readonly objects: ManifestObjects;
  readonly named: readonly NamedLoad[];
  readonly seconds: number;
}

/** The policies, best first. Throws a StartError where none of them is valid. */
export async function sweep(
  { sweep: fields, seed, workers }: Pick<SimulateOptions, "sweep" | "seed" | "workers">,
  { objects, named, seconds }: Sweep,
): Promise<readonly Ranked[]> {
  const axes = (fields ?? []).length === 0 ? BUILT_IN : (fields ?? []).map(parseAxis);
  const candidates = listCandidates(objects.manifests, axes);
  const { workloads, scaledObjects } = objects;
  const trial: Trial = { workloads, scaledObjects, loads: shareLoads(objects, { named, seconds }), seed, seconds };
  const progress = createProgress(STDERR, candidates.length);
  const count = workers ?? navigator.hardwareConcurrency;
  const lost = new Set<string>();
  const onLost = (error: unknown) => void lost.add(error instanceof Error ? error.message : String(error));
  const tried = await tryAll(trial, candidates, { workers: count, onDone: progress.show, onLost });
  progress.end();
  for (const cause of lost) writeError(`Cannot use a worker, so this took longer than it may: ${cause}`);
  const refused = new Set<string>();
  const scored = tried.flatMap((one, index): readonly Scored[] => {
    if (one.ok) return [{ name: candidates[index]?.name ?? "", ...one.totals }];
    refused.add(one.message);
    return [];
  });
  if (scored.length === 0) throw new StartError(`Cannot sweep: no policy is valid: ${[...refused][0] ?? ""}`);
  const left = tried.length - scored.length;
  if (left > 0) writeError(`${left} of ${tried.length} policies are not valid and left out: ${[...refused][0]}`);
  return rank(scored);
}

/** The best of them as a table. */
export function formatRanked(ranked: readonly Ranked[]): string {
  const rows = ranked.slice(0, SHOWN).map((one, index) => [
    String(index + 1),
    one.isOnFront ? "*" : "",
    `${formatNumber(one.slack)}m`,
    `${formatNumber(one.under)}m`,
    `${formatNumber(one.throttledSeconds)}s`,
    formatNumber(one.oomKills),
    formatNumber(one.resizesPerHour),
    one.name,
  ]);
  const head = ["", "front", "slack", "under", "throttled", "OOM kills", "resizes/h", "policy"];
  const more = ranked.length > SHOWN ? `\n${ranked.length - SHOWN} more: -o json has all` : "";
  return `${alignRows([head, ...rows], true)}${more}\n`;
}

const SHOWN = 40;

const STDERR = { isTerminal: () => Deno.stderr.isTerminal(), write: writeDiagnostic };

function shareLoads(
  { workloads }: ManifestObjects,
  { named, seconds }: Pick<Sweep, "named" | "seconds">,
): Trial["loads"] {
  const names = workloads.flatMap(({ pod }) => pod.spec?.containers.map(({ name }) => name) ?? []);
  const loads = toLoads(named, names);
  // Containers of one load share its memory, too.
  const shared = new Map(Object.values(loads).map((load) => [load, shareLoad(load, seconds)]));
  return Object.fromEntries(
    Object.entries(loads).flatMap(([name, load]) => {
      const one = shared.get(load);
      return one === undefined ? [] : [[name, one]];
    }),
  );
}
