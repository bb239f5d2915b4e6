/**
 * `podfit adopt` and `podfit release`: who sets the replicas of a ScaledObject, podfit or KEDA?
 *
 * Each step is a change of annotations, or a wait for what podfit or KEDA makes of it. If a step fails, the
 * annotations become what they were before. Clauses: M6.
 */
import { createClient } from "../../kube/client.ts";
import { getErrorMessage } from "../../kube/errors.ts";
import type { ApiServer } from "../../kube/transport.ts";
import {
  findMisfit,
  formatAdoptionRecord,
  type HpaMetric,
  isSelected,
  KEDA_METRICS,
  KEDA_PAUSED,
  MEASURED_BY,
  parseAdoptedTriggers,
  SELECTED,
  toAdoptionRecord,
} from "../../resources/scaled_object/adoption.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { parseGoBoolean } from "../../units/numbers.ts";
import { isRecord } from "../../units/untrusted.ts";
import { EXIT, listenForSignals, StartError, toStartError } from "../command/process.ts";
import { connectTo, RIGHT_ADVICE } from "../connection/api_server.ts";
import { formatCount } from "../terminal/numbers.ts";
import { writeError, writeLines } from "../terminal/output.ts";
import {
  annotate,
  type Annotations,
  findCondition,
  findKedasHpa,
  listObjects,
  type ObjectName,
  readObject,
  type SeenObject,
  type Steps,
  waitUntil,
} from "./objects.ts";
import type { AdoptionOptions } from "./options.ts";

/** Resolves to the exit code. Rejects with a StartError where no object could be chosen. */
export function adopt(options: AdoptionOptions): Promise<number> {
  return withServer(options, "adopt");
}

/** Resolves to the exit code. Rejects with a StartError where no object could be chosen. */
export function release(options: AdoptionOptions): Promise<number> {
  return withServer(options, "release");
}

type Verb = "adopt" | "release";

async function withServer(options: AdoptionOptions, verb: Verb): Promise<number> {
  using ending = listenForSignals();
  await using server = await connectTo(options.server, ending.signal);
  const { signal } = ending;
  return await changeHands(verb, { server, options, signal, clock: systemClock, write: (line) => writeLines([line]) });
}

interface ChangeOptions {
  readonly server: Pick<ApiServer, "origin" | "transport" | "namespace">;
  readonly options: Omit<AdoptionOptions, "server">;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly write: (line: string) => void;
  readonly complain?: (line: string) => void;
}

/** One object after the other; one that fails does not hold up the others. */
export async function changeHands(
  verb: Verb,
  { server, options, signal, clock, write, complain = writeError }: ChangeOptions,
): Promise<number> {
  const client = createClient(server);
  const { timeoutMs, isDryRun } = options;
  const namespace = options.namespace ?? server.namespace;
  const objects = await chooseObjects(verb, { ...options, namespace }, { client, signal });
  let code: number = EXIT.ok;
  for (const of of objects) {
    const say = (text: string) => write(`${of.namespace}/${of.name}: ${text}${isDryRun ? " (dry run)" : ""}`);
    const steps: Steps = { client, clock, timeoutMs, isDryRun, say, signal };
    try {
      await (verb === "adopt" ? adoptOne : releaseOne)(steps, of);
    } catch (error) {
      code = EXIT.failed;
      complain(toStartError(`Cannot ${verb} ${of.namespace}/${of.name}: ${describe(error, signal)}`).message);
      if (signal.aborted) break;
    }
  }
  return code;
}

function describe(error: unknown, signal: AbortSignal): string {
  if (error instanceof StartError) return error.message;
  if (signal.aborted) return "interrupted";
  return getErrorMessage(error) + (isForbidden(error) ? RIGHT_ADVICE : "");
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === 403;
}

async function chooseObjects(
  verb: Verb,
  options: Omit<AdoptionOptions, "server" | "namespace"> & { readonly namespace: string },
  asking: Pick<Steps, "client" | "signal">,
): Promise<readonly ObjectName[]> {
  const { names, namespace } = options;
  if (names.length > 0) return names.map((name) => ({ namespace, name }));
  const all = await listObjects(asking, options).catch((error) => {
    throw toStartError(error, isForbidden(error) ? RIGHT_ADVICE : "");
  });
  const chosen = verb === "adopt" ? all : all.filter(({ object }) => isSelected(object));
  if (chosen.length > 0) return chosen;
  const which = verb === "adopt" ? "" : " that podfit scales";
  throw new StartError(`Cannot ${verb}: no ScaledObject${which} has these labels; look with \`kubectl get so -A\``);
}

const PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas";

const OTHER_PAUSES = [
  PAUSED_REPLICAS,
  "autoscaling.keda.sh/paused-scale-in",
  "autoscaling.keda.sh/paused-scale-out",
];

async function adoptOne(steps: Steps, of: ObjectName): Promise<void> {
  const { say } = steps;
  const before = await readObject(steps, of);
  const isOwn = isSelected(before.object);
  refuseUsersPause(before, isOwn ? OTHER_PAUSES : [KEDA_PAUSED, ...OTHER_PAUSES]);
  const isPaused = isOn(before, KEDA_PAUSED);
  if (isPaused && hasFittingRecord(before)) {
    if (findCondition(before, "PodfitScaling")?.status === "True") return say("podfit sets the replicas already");
    if (steps.isDryRun) return say("would wait until podfit sets the replicas");
    await waitForPodfit(steps, of);
    return say("podfit sets the replicas");
  }
  if (steps.isDryRun) return printAdoption(say, { isOwn, isPaused });
  await orUndo(steps, before, async () => {
    if (!isOwn) await change(steps, of, { [SELECTED]: "true" });
    say(`selected for podfit (${SELECTED}=true)`);
    if (isPaused) {
      await change(steps, of, { [KEDA_PAUSED]: null });
      say("its record does not fit its triggers: not paused for KEDA until there is a new one");
    }
    const count = await pauseWithRecord(steps, of);
    say(count === null ? "it needs no record: all its triggers are cpu or memory" : `podfit has recorded ${count}`);
    say(`paused for KEDA (${KEDA_PAUSED}=true)`);
    await waitForPodfit(steps, of);
  });
  say("podfit sets the replicas, and KEDA measures");
}

function printAdoption(say: Steps["say"], { isOwn, isPaused }: { isOwn: boolean; isPaused: boolean }): void {
  if (!isOwn) say(`would select it for podfit (${SELECTED}=true)`);
  if (isPaused) say("would end the pause for KEDA, because its record does not fit its triggers");
  say("would wait until podfit has recorded what KEDA asks of the triggers");
  say(`would pause it for KEDA (${KEDA_PAUSED}=true)`);
  say("would wait until podfit sets the replicas");
}

function refuseUsersPause(object: SeenObject, pauses: readonly string[]): void {
  const found = pauses.find((key) => isOn(object, key));
  if (found === undefined) return;
  throw new StartError(`it is paused already by the annotation ${found}; remove that annotation first`);
}

/** `paused: "false"` does not pause. A number of paused replicas always does. */
function isOn({ annotations }: SeenObject, key: string): boolean {
  return Object.hasOwn(annotations, key) &&
    (key === PAUSED_REPLICAS || parseGoBoolean(String(annotations[key])) !== false);
}

/** Where a record is needed, it is that of the triggers that are there now, and of KEDA's HPA as it is now. */
function hasRecordOf({ object }: SeenObject, metrics: readonly HpaMetric[]): boolean {
  const { record, triggersHash } = parseAdoptedTriggers(object);
  return !needsRecord(object) || (record !== null &&
    formatAdoptionRecord(record) === formatAdoptionRecord(toAdoptionRecord(metrics, triggersHash)));
}

/** Where a record is needed, it is that of the triggers that are there now. */
function hasFittingRecord({ object }: SeenObject): boolean {
  const { record, isStale } = parseAdoptedTriggers(object);
  return !needsRecord(object) || (record !== null && !isStale);
}

/** KEDA's HPA has the others as metrics of resources. */
function needsRecord({ spec }: SeenObject["object"]): boolean {
  const triggers = isRecord(spec) && Array.isArray(spec["triggers"]) ? spec["triggers"] : [];
  return triggers.some((one) => !isRecord(one) || (one["type"] !== "cpu" && one["type"] !== "memory"));
}

/** The part of the timeout in which KEDA changes its HPA. Most changes of a spec do not change the HPA. */
const KEDAS_SHARE = 1 / 3;

/**
 * Waits for podfit's word that KEDA scales, and for the record of KEDA's HPA, and pauses the object as it is then. A
 * condition of an earlier adoption says True, so it does not count. KEDA changes its HPA a moment after the triggers.
 */
function pauseWithRecord(steps: Steps, of: ObjectName): Promise<string | null> {
  const kedaMs = steps.clock.monotonic() + steps.timeoutMs * KEDAS_SHARE;
  return waitUntil(steps, async () => {
    const seen = await readObject(steps, of);
    const said = findCondition(seen, "PodfitScaling");
    if (said === null || said.status === "True") return { cause: NO_PODFIT };
    const { hpa, isThere, metrics, isOlder, changedMsAgo } = await findKedasHpa(steps, seen);
    if (!isThere) {
      return {
        cause: `KEDA has made no HPA "${hpa}"; look whether KEDA's operator runs, and at \`kubectl describe so\``,
      };
    }
    // Most changes of a spec do not change the HPA, so a change of long ago explains nothing.
    const isLate = isOlder && changedMsAgo < 2 * steps.timeoutMs;
    const isWaiting = isLate && steps.clock.monotonic() < kedaMs;
    const misfit = findMisfit(seen.object["spec"], metrics);
    if (needsRecord(seen.object) && (isWaiting || misfit !== null)) {
      return { cause: describeMisfit(hpa, { misfit, isLate }) };
    }
    if (!hasRecordOf(seen, metrics)) {
      return { cause: "podfit has written no record of KEDA's HPA; look at podfit's log" };
    }
    const { resourceVersion } = seen;
    if (!await annotate(steps, of, { annotations: { [KEDA_PAUSED]: "true" }, resourceVersion })) {
      return { cause: "another writer changes the object all the time; look at `kubectl get so --watch`" };
    }
    const { record } = parseAdoptedTriggers(seen.object);
    const isNeeded = record !== null && needsRecord(seen.object);
    return { done: isNeeded ? formatCount(record.metrics.length, "metric") : null };
  });
}

function describeMisfit(hpa: string, { misfit, isLate }: { misfit: string | null; isLate: boolean }): string {
  if (!isLate) {
    return `KEDA's HPA "${hpa}" has ${misfit}; look at \`kubectl describe so\` and at \`kubectl describe hpa ${hpa}\``;
  }
  const lack = misfit === null ? "" : `, and it has ${misfit}`;
  return `KEDA has not changed its HPA "${hpa}" since the object changed${lack}; try again in a few seconds, and look ` +
    "whether KEDA's operator runs, and at `kubectl describe so`";
}

const NO_PODFIT = "podfit says nothing about the object; it must run with scaledObjects.mode=selected, and see this " +
  "namespace";

function waitForPodfit(steps: Steps, of: ObjectName): Promise<void> {
  return waitUntil(steps, async () => {
    const seen = await readObject(steps, of);
    const said = findCondition(seen, "PodfitScaling");
    if (said?.status === "True") return { done: undefined };
    return { cause: said === null ? NO_PODFIT : `podfit does not set the replicas: ${said.reason}: ${said.message}` };
  });
}

async function releaseOne(steps: Steps, of: ObjectName): Promise<void> {
  const { say } = steps;
  const before = await readObject(steps, of);
  if (!isSelected(before.object)) {
    if (!isOn(before, KEDA_PAUSED)) return say("podfit does not scale it");
    throw new StartError(`podfit does not scale it, and ${KEDA_PAUSED} is not podfit's; remove it yourself`);
  }
  refuseUsersPause(before, [PAUSED_REPLICAS]);
  if (steps.isDryRun) {
    say("would end the pause for KEDA");
    say("would wait until KEDA's HPA is there again");
    return say("would remove podfit's annotations");
  }
  await orUndo(steps, before, async () => {
    await change(steps, of, { [KEDA_PAUSED]: null });
    say("not paused for KEDA any more");
    const hpa = await waitUntil(steps, async () => {
      const found = await findKedasHpa(steps, await readObject(steps, of));
      if (found.isThere) return { done: found.hpa };
      return { cause: `KEDA has made no HPA "${found.hpa}"; look whether KEDA's operator runs` };
    });
    say(`KEDA's HPA "${hpa}" is there`);
    await change(steps, of, Object.fromEntries(OWN_ANNOTATIONS.map((key) => [key, null])));
  });
  say("podfit's annotations are removed: KEDA sets the replicas");
}

const OWN_ANNOTATIONS = [
  SELECTED,
  KEDA_METRICS,
  MEASURED_BY,
  ...["paused", "paused-replicas", "paused-scale-in", "paused-scale-out"].map((key) => `podfit.dev/${key}`),
];

async function change(steps: Steps, of: ObjectName, annotations: Annotations): Promise<void> {
  await annotate(steps, of, { annotations, resourceVersion: null });
}

const UNDO_MS = 10_000;

/** Also after Ctrl-C. One PATCH, so that podfit never sees a half of it. */
async function orUndo(steps: Steps, before: SeenObject, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const cause = describe(error, steps.signal);
    const annotations = listUndone(before);
    using timeout = steps.clock.timeout(UNDO_MS);
    try {
      await annotate({ ...steps, signal: timeout.signal }, before, { annotations, resourceVersion: null });
    } catch (failure) {
      const left = Object.entries(annotations).map(([key, value]) => value === null ? `${key}-` : `${key}=${value}`);
      const command = `kubectl annotate so ${before.name} -n ${before.namespace} --overwrite ${left.join(" ")}`;
      throw new StartError(`${cause}. The steps are not undone (${getErrorMessage(failure)}); run: ${command}`);
    }
    throw new StartError(`${cause}. The steps are undone`);
  }
}

/** The record stays where podfit keeps it up to date. */
function listUndone({ annotations, object }: SeenObject): Annotations {
  const valueOf = (key: string) => Object.hasOwn(annotations, key) ? String(annotations[key]) : null;
  const keys = isSelected(object) ? [SELECTED, KEDA_PAUSED] : [SELECTED, KEDA_PAUSED, KEDA_METRICS];
  return Object.fromEntries(keys.map((key) => [key, valueOf(key)]));
}
