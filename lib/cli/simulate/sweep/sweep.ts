/** `podfit simulate --sweep`: tries many policies on one load in parallel, and ranks them. */
import type { NamedLoad } from "../../../simulate/load.ts";
import { isRecord } from "../../../units/untrusted.ts";
import { StartError } from "../../command/process.ts";
import { findUnknown, selectLoads } from "../../loads/loads.ts";
import type { Manifest } from "../../manifests/files.ts";
import type { ManifestObjects } from "../../manifests/objects.ts";
import { formatNumber, formatQuantity, formatSpan } from "../../terminal/numbers.ts";
import { writeError } from "../../terminal/output.ts";
import { openProgressLine } from "../../terminal/screen.ts";
import { formatTable } from "../../terminal/text.ts";
import type { ReportCandidate } from "../html/report.ts";
import type { SimulateOptions } from "../options.ts";
import { shareLoad, type Totals, type Trial, type Tried, tryPolicy } from "./try_policy.ts";
import { type PolicyWorker, startWorker } from "./worker.ts";

/** What is swept. */
interface Sweep {
  readonly objects: ManifestObjects;
  readonly named: readonly NamedLoad[];
  readonly seconds: number;
}

/** Resolves to the policies, best first. Rejects with a StartError where all of them are invalid. */
export async function sweep(
  { sweep: fields, seed, workers }: Pick<SimulateOptions, "sweep" | "seed" | "workers">,
  { objects, named, seconds }: Sweep,
): Promise<readonly Ranked[]> {
  const axes = (fields ?? []).length === 0 ? DEFAULT_AXES : (fields ?? []).map(parseAxis);
  const candidates = listCandidates(objects.manifests, axes);
  const { workloads, scaledObjects } = objects;
  const unknown = findUnknown(named, listContainers(workloads));
  const trial: Trial = {
    workloads,
    scaledObjects,
    loads: shareLoads(objects, { named, seconds }),
    unknown,
    seed,
    seconds,
  };
  const count = workers ?? navigator.hardwareConcurrency;
  const lost = new Set<string>();
  const onLost = (error: unknown) => void lost.add(error instanceof Error ? error.message : String(error));
  const tried = await tryWithProgress(trial, candidates, { workers: count, onLost });
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
  return rank(mergeAlike(scored));
}

async function tryWithProgress(
  trial: Trial,
  candidates: readonly Candidate[],
  options: Omit<PoolOptions, "onDone">,
): Promise<readonly Tried[]> {
  using progress = openProgressLine();
  const onDone = (done: number) => progress.show(`${done} of ${candidates.length} policies`);
  return await tryCandidates(trial, candidates, { ...options, onDone });
}

/** Returns the best of them as a table. */
export function formatRanked(ranked: readonly Ranked[]): string {
  const rows = ranked.slice(0, MAX_SHOWN).map((one, index) => [
    String(index + 1),
    formatQuantity(one.slack, "cpu"),
    formatQuantity(one.under, "cpu"),
    formatSpan(one.throttledSeconds),
    formatNumber(one.oomKills),
    formatNumber(one.resizesPerHour),
    one.bestIn.map((cost) => COST_NAMES[cost]).join(", "),
    one.name,
  ]);
  const head = ["", "slack", "under", "throttled", "OOM kills", "resizes/h", "best in", "policy"];
  const more = ranked.length > MAX_SHOWN ? `\n${ranked.length - MAX_SHOWN} more: -o json has all` : "";
  const table = formatTable([head, ...rows], (column) => column < head.length - 2).join("\n");
  return `Best policy first: ${RANKING}\n\n${table}${more}\n`;
}

/** How they are ranked. */
export const RANKING = "fewest OOM kills, then the lowest sum of places in slack, throttled time and resizes";

const MAX_SHOWN = 40;

function shareLoads(
  { workloads }: ManifestObjects,
  { named, seconds }: Pick<Sweep, "named" | "seconds">,
): Trial["loads"] {
  const loads = selectLoads(named, listContainers(workloads));
  // Containers of one load share its memory, too.
  const shared = new Map(Object.values(loads).map((load) => [load, shareLoad(load, seconds)]));
  return Object.fromEntries(
    Object.entries(loads).flatMap(([name, load]) => {
      const one = shared.get(load);
      return one === undefined ? [] : [[name, one]];
    }),
  );
}

function listContainers(workloads: ManifestObjects["workloads"]): readonly string[] {
  return workloads.flatMap(({ pod }) => pod.spec?.containers.map(({ name }) => name) ?? []);
}

/** One policy to be tried. */
interface Candidate {
  /** What it changes: `profile=thrifty scaleDown.cooldown=1m`. */
  readonly name: string;
  readonly manifests: readonly Manifest[];
}

/** One field with the values to try; `null` = unchanged. */
interface Axis {
  readonly field: string;
  readonly values: readonly (string | number | boolean | null)[];
}

/** The profiles, each unchanged and with the fields that people change first. */
export const DEFAULT_AXES: readonly Axis[] = [
  { field: "profile", values: ["latency", "balanced", "thrifty"] },
  { field: "cpu.requests.scaleUp.targetUtilization", values: [null, 65, 75, 85] },
  { field: "scaleDown.cooldown", values: [null, "1m", "10m"] },
];

const MAX_CANDIDATES = 10_000;

const FIELD = /^[a-zA-Z]+(\.[a-zA-Z]+)*$/;

/** Returns the axis of `FIELD=VALUE,VALUE`. Throws a StartError for anything else. */
export function parseAxis(text: string): Axis {
  const at = text.indexOf("=");
  const [field, list] = [text.slice(0, at), text.slice(at + 1)];
  const values = list.split(",").map((value) => value.trim());
  if (at < 0 || !FIELD.test(field) || values.some((value) => value === "")) {
    throw new StartError(
      `Cannot read --sweep "${text}": write FIELD=VALUE,VALUE, such as cpu.requests.scaleUp.targetUtilization=60,70`,
    );
  }
  return { field, values: values.map(toValue) };
}

/** Returns the given manifests first, then every combination. Throws a StartError for too many, or for a field twice. */
export function listCandidates(manifests: readonly Manifest[], axes: readonly Axis[]): readonly Candidate[] {
  const paths = axes.map(({ field }) => toPath(field).join("."));
  const repeated = axes.find((_, index) => paths.indexOf(paths[index] ?? "") < index);
  if (repeated !== undefined) {
    throw new StartError(
      `Cannot sweep field "${repeated.field}" twice: name all its values in one --sweep ${repeated.field}=VALUE,VALUE`,
    );
  }
  const count = axes.reduce((product, { values }) => product * values.length, 1);
  if (count > MAX_CANDIDATES) {
    throw new StartError(`Cannot sweep ${count} policies: at most ${MAX_CANDIDATES}; name fewer values`);
  }
  let combinations: readonly Settings[] = [[]];
  for (const { field, values } of axes) {
    combinations = combinations.flatMap((one) => values.map((value): Settings => [...one, [field, value]]));
  }
  return [{ name: "as given", manifests }, ...combinations.map((settings) => toCandidate(manifests, settings))];
}

type Settings = readonly (readonly [field: string, value: Axis["values"][number]])[];

function toCandidate(manifests: readonly Manifest[], settings: Settings): Candidate {
  const changes = settings.filter(([, value]) => value !== null);
  // Another profile replaces the written policy, and must not replace the other fields of the sweep.
  const inOrder = changes.toSorted(([a], [b]) => Number(b === "profile") - Number(a === "profile"));
  return {
    name: changes.map(([field, value]) => `${field}=${value}`).join(" "),
    manifests: manifests.map((manifest) =>
      inOrder.reduce((one, [field, value]) => setField(one, field, value), manifest)
    ),
  };
}

/** Fields of the spec itself; every other one is the policy's. */
const SPEC_FIELDS = ["profile", "mode", "newPods", "bounds", "policy", "containerName", "priority"];

function toPath(field: string): readonly string[] {
  const keys = field.split(".");
  return SPEC_FIELDS.includes(keys[0] ?? "") ? ["spec", ...keys] : ["spec", "policy", ...keys];
}

function setField(manifest: Manifest, field: string, value: unknown): Manifest {
  const path = toPath(field);
  if (field !== "profile" || !isRecord(manifest.spec)) return setAtPath(manifest, path, value);
  const { policy: _, ...spec } = manifest.spec;
  return { ...manifest, spec: { ...spec, profile: value } };
}

function setAtPath(object: Manifest, [key = "", ...rest]: readonly string[], value: unknown): Manifest {
  if (rest.length === 0) return { ...object, [key]: value };
  const inner = object[key];
  return { ...object, [key]: setAtPath(isRecord(inner) ? inner : {}, rest, value) };
}

function toValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Workers and callbacks. */
interface PoolOptions {
  readonly workers: number;
  /** Gets how many are done. Must not throw. */
  readonly onDone: (count: number) => void;
  /** Gets why a worker cannot start, or broke. Must not throw. */
  readonly onLost: (error: unknown) => void;
  readonly start?: (trial: Trial) => PolicyWorker;
}

/** Resolves to the result of each candidate, in their order. */
export async function tryCandidates(
  trial: Trial,
  candidates: readonly Candidate[],
  { workers, onDone, onLost, start = startWorker }: PoolOptions,
): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  let [next, done] = [0, 0];
  const work = async (tryOne: (candidate: Candidate) => Promise<Tried>) => {
    for (let index = next++; index < candidates.length; index = next++) {
      const candidate = candidates[index];
      if (candidate !== undefined) tried[index] = await tryOne(candidate);
      onDone(++done);
    }
  };
  const lanes = Math.max(1, Math.min(workers, candidates.length));
  if (lanes === 1) await work((candidate) => tryInProcess(trial, candidate));
  else await Promise.all(Array.from({ length: lanes }, () => workInWorker(trial, { start, work, onLost })));
  return tried;
}

interface Lane extends Pick<Required<PoolOptions>, "start" | "onLost"> {
  readonly work: (tryOne: (candidate: Candidate) => Promise<Tried>) => Promise<void>;
}

/** A worker that was lost continues in this process. */
async function workInWorker(trial: Trial, { start, work, onLost }: Lane): Promise<void> {
  using worker = startOrNull(trial, { start, onLost });
  let isLost = worker === null;
  await work(async (candidate) => {
    if (worker === null || isLost) return await tryInProcess(trial, candidate);
    try {
      return await worker.tryPolicy(candidate.manifests);
    } catch (error) {
      isLost = true;
      onLost(error);
      return await tryInProcess(trial, candidate);
    }
  });
}

function startOrNull(trial: Trial, { start, onLost }: Pick<Lane, "start" | "onLost">): PolicyWorker | null {
  try {
    return start(trial);
  } catch (error) {
    onLost(error);
    return null;
  }
}

/** Yields to other tasks, so that progress is shown. */
async function tryInProcess(trial: Trial, { manifests }: Candidate): Promise<Tried> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  return tryPolicy(trial, manifests);
}

/** A policy that was tried. */
export interface Scored extends Totals {
  readonly name: string;
}

/** Less is better in each. */
const COSTS = ["slack", "throttledSeconds", "oomKills", "resizesPerHour"] as const;

type Cost = typeof COSTS[number];

/** How a table calls a cost. */
const COST_NAMES: Readonly<Record<Cost, string>> = {
  slack: "slack",
  throttledSeconds: "throttled",
  oomKills: "OOM kills",
  resizesPerHour: "resizes",
};

/** A policy with its place among the others. */
export interface Ranked extends ReportCandidate {
  readonly under: number;
  /** The costs in which no other is lower; of alike ones the first has it, and none where all are alike. */
  readonly bestIn: readonly Cost[];
}

/** Policies with the same figures in all are one row with both names. */
export function mergeAlike(scored: readonly Scored[]): readonly Scored[] {
  const alike = Map.groupBy(scored, ({ name: _, ...totals }) => JSON.stringify(totals));
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, name: [first, ...others].map(({ name }) => name).join(" = ") }]
  );
}

/**
 * Fewest OOM kills first, then the lowest sum of ranks in slack, throttled time and resizes. A policy is on the front
 * if no other is at least as good in all four and better in one.
 */
export function rank(scored: readonly Scored[]): readonly Ranked[] {
  const places = COSTS.map((cost) => toPlaces(scored, cost));
  const sums = new Map(scored.map((one, index) => [one, places.reduce((sum, list) => sum + (list[index] ?? 0), 0)]));
  const sorted = scored.toSorted((a, b) => a.oomKills - b.oomKills || (sums.get(a) ?? 0) - (sums.get(b) ?? 0));
  const winners = COSTS.map((cost) => findWinner(sorted, cost));
  return sorted.map((one) => ({
    ...one,
    isOnFront: !scored.some((other) => beats(other, one)),
    bestIn: COSTS.filter((_, index) => winners[index] === one),
  }));
}

function findWinner(sorted: readonly Scored[], cost: Cost): Scored | null {
  const [least, most] = [Math.min(...sorted.map((one) => one[cost])), Math.max(...sorted.map((one) => one[cost]))];
  return least === most ? null : sorted.find((one) => one[cost] === least) ?? null;
}

function beats(one: Scored, other: Scored): boolean {
  return COSTS.every((cost) => one[cost] <= other[cost]) && COSTS.some((cost) => one[cost] < other[cost]);
}

/** How many are better. */
function toPlaces(scored: readonly Scored[], cost: Cost): readonly number[] {
  const sorted = scored.map((one) => one[cost]).sort((a, b) => a - b);
  return scored.map((one) => sorted.indexOf(one[cost]));
}
