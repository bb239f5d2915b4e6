/**
 * `podfit explain`: why does this pod have its size, and this workload its number of pods?
 *
 * It asks the podfit that owns the pod. Where none is found, it watches the cluster itself for two samples. `--watch`
 * gives a new explanation after each evaluation, on the screen or as lines.
 */
import type { ApiServer } from "../../kube/transport.ts";
import type { PodLine, RecordLine, ScaledObjectLine } from "../../record/record.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { abortable } from "../../runtime/tasks.ts";
import { type Subject, SUBJECT_PLACES, type SubjectKind } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { openUsage } from "../connection/api_server.ts";
import { type Access, fetchOne, getField, type Server, toPath, withAccess } from "../connection/podfits.ts";
import {
  askUntilAnswered,
  DebugError,
  type DebugListener,
  type DebugQuery,
  type DebugReason,
  type DebugSource,
  fetchAll,
  fetchLatest,
  readTexts,
  type RecordsOptions,
} from "../connection/records.ts";
import { explainPod } from "../explanation/explain_pod.ts";
import { explainPlainWorkload, explainWorkload, findTargetName, isPodOf } from "../explanation/explain_workload.ts";
import type { Explanation } from "../explanation/explanation.ts";
import { describePod, describeWorkload } from "../explanation/words.ts";
import { isData, writeData } from "../terminal/data.ts";
import { formatCount } from "../terminal/numbers.ts";
import { type Text, writeError, writeLines } from "../terminal/output.ts";
import { fillScreen, getTextOptions, openScreen, type Screen } from "../terminal/screen.ts";
import { breakLines, createStyle, type TextOptions } from "../terminal/text.ts";
import type { ExplainOptions } from "./options.ts";
import {
  collectRecords,
  createRecordsSource,
  hasEnoughRecords,
  isSizedBy,
  UNKNOWN_WITHOUT_DAEMON,
} from "./without_daemon.ts";

const KINDS = Object.keys(SUBJECT_PLACES) as readonly SubjectKind[];

/** Resolves to exit code 0: explained. Rejects with a StartError where there is no explanation. */
export function explain(options: ExplainOptions): Promise<number> {
  return withAccess(options.access, async (access, signal) => {
    const { server, namespace } = access;
    // Without an API server, only podfit's records say what there is.
    const { subject, note } = server === null
      ? { subject: options.subject, note: null }
      : await abortable(findSubject(server, { ...options, namespace }, signal), signal);
    if (note !== null) writeError(note);
    const asking = { ...options, subject, access, signal };
    if (options.watches) await watch(asking);
    else printExplanation(await abortable(explainOnce(asking), signal), options);
  });
}

interface ExplainContext extends Omit<ExplainOptions, "access"> {
  readonly access: Access;
  readonly signal: AbortSignal;
}

async function explainOnce(asking: ExplainContext): Promise<Explanation> {
  if (asking.withoutDaemon) return await explainWithoutDaemon(asking);
  const listeners = await orNullWithoutPodfit(openListeners(asking));
  return listeners === null ? await explainWithoutDaemon(asking) : await explainBy(listeners, asking);
}

function openListeners({ access, subject: { kind, name }, signal }: ExplainContext): Promise<readonly DebugListener[]> {
  return access.open({ namespace: access.namespace, pod: kind === "pod" ? name : null }, signal);
}

function explainBy(
  sources: readonly DebugSource[],
  { access: { namespace }, subject, signal }: ExplainContext,
  unknown: readonly string[] = [],
): Promise<Explanation> {
  return explainFromSources(sources, subject, { namespace, signal, now: () => systemClock.now(), unknown });
}

/** `null` where no podfit was found; stderr says so. */
async function orNullWithoutPodfit<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof DebugError)) throw error;
    if (error.reason === "NoListener") throw new StartError(`${error.message}; or look without it: --without-daemon`);
    if (error.reason !== "NoPodfit") throw error;
    writeError(`${error.message}; looking without one`);
    return null;
  }
}

async function explainWithoutDaemon(asking: ExplainContext): Promise<Explanation> {
  const { access: { server } } = asking;
  if (server === null) throw new StartError("Cannot look at the cluster: --url names a podfit and no API server");
  return await explainBy(
    [createRecordsSource(await collectWithProgress(server, asking))],
    asking,
    UNKNOWN_WITHOUT_DAEMON,
  );
}

async function collectWithProgress(
  server: ApiServer,
  { access: { namespace }, subject, signal }: ExplainContext,
): Promise<readonly RecordLine[]> {
  using usage = await openUsage(server, { clock: systemClock, namespaces: [namespace] });
  let seen = 0;
  writeError(`Looking at ${subject.kind} ${namespace}/${subject.name} for two samples of usage, which takes up to 90s`);
  return await collectRecords({
    server,
    clock: systemClock,
    namespace,
    watchUsage: usage.watchUsage,
    subject,
    isEnough: (lines) => hasEnoughRecords(lines, subject),
    onLine(line) {
      if (line.kind !== "pod" || line.name !== subject.name || line.record.input.observation.kind !== "usage") return;
      seen++;
      writeError(`Seen ${seen} ${seen === 1 ? "reading" : "readings"} of its usage`);
    },
    signal,
  });
}

/** Repeats the check where no podfit runs. */
async function watch(asking: ExplainContext): Promise<void> {
  using view = openView(asking);
  const { signal } = asking;
  const watching = watchExplanation({
    clock: systemClock,
    signal,
    open: () => openListeners(asking),
    explain: (listeners) => explainBy(listeners, asking),
    onExplained: view.show,
    onTrouble: view.complain,
  });
  if (await orNullWithoutPodfit(watching.then(() => true)) === null) await watchWithoutDaemon(asking, view);
}

const WITHOUT_DAEMON_MS = 5_000;

async function watchWithoutDaemon(asking: ExplainContext, view: View): Promise<void> {
  const { signal } = asking;
  while (!signal.aborted) {
    if (!view.show(await abortable(explainOnce(asking), signal))) return;
    await systemClock.sleep(WITHOUT_DAEMON_MS, signal).catch(() => {});
  }
}

/** Throws a DebugError where no source has a record of the subject. */
export async function explainFromSources(
  sources: readonly DebugSource[],
  subject: Subject,
  options: RecordsOptions,
): Promise<Explanation> {
  const { namespace, now } = options;
  if (subject.kind === "pod") {
    const { unknown = [] } = options;
    const lines = await askUntilAnswered(sources, (one) => fetchAll(one, { namespace, pod: subject.name }, options));
    const explained = explainPod(keepNewest(lines.filter((line) => line.kind === "pod")), { now: now(), unknown });
    if (explained !== null) return explained;
    throw nothingKnown(subject, options);
  }
  const { lines: latest, warnings } = await fetchLatest(sources, { namespace }, options);
  const unknown = [...options.unknown ?? [], ...warnings];
  if (subject.kind === "podresourceautoscaler") {
    const pods = latest.filter((line) => line.kind === "pod").filter((line) => isSizedBy(line, subject.name));
    const answer = `podfit sizes ${formatCount(pods.length, "pod")} by ${subject.kind}/${subject.name}.`;
    return explainPods(pods, subject, { ...options, unknown, answer });
  }
  const objects = latest.filter((line) => line.kind === "scaledObject");
  const object = objects.find((line) => isAbout(line, subject));
  const target = object === undefined ? `${subject.kind}/${subject.name}` : findTargetName(object);
  const pods = latest.filter((line) => line.kind === "pod").filter((line) => target !== null && isPodOf(line, target));
  if (object === undefined) return explainPods(pods, subject, { ...options, unknown });
  const lines = await askUntilAnswered(
    sources,
    (one) => fetchAll(one, { namespace, scaledObject: object.name }, options),
  );
  const own = keepNewest(lines.filter((line) => line.kind === "scaledObject"));
  const explained = explainWorkload(own.length === 0 ? [object] : own, { now: now(), pods, unknown });
  if (explained !== null) return explained;
  throw nothingKnown(subject, options);
}

/** podfit keeps the records of a deleted object for a while, and another one may have its name. */
function keepNewest<T extends RecordLine>(lines: readonly T[]): readonly T[] {
  const uid = lines.at(-1)?.uid;
  return lines.filter((line) => line.uid === uid);
}

function isAbout(line: ScaledObjectLine, { kind, name }: Subject): boolean {
  return kind === "scaledobject" ? line.name === name : findTargetName(line) === `${kind}/${name}`;
}

/** No ScaledObject sets its replicas, so only its pods are known. */
function explainPods(
  pods: readonly PodLine[],
  subject: Subject,
  options: RecordsOptions & { readonly answer?: string },
): Explanation {
  if (pods.length === 0) throw nothingKnown(subject, options);
  const target = `${subject.kind}/${subject.name}`;
  return explainPlainWorkload({ ...options, now: options.now(), pods, target });
}

function nothingKnown({ kind, name }: Subject, { namespace }: RecordsOptions): DebugError {
  const why = kind === "scaledobject"
    ? "podfit has no record of it: it is seconds old, or podfit leaves it to KEDA, if scaledObjects.mode is selected; " +
      `give it to podfit with \`podfit adopt so/${name} -n ${namespace}\``
    : "podfit has no record of it: no PodResourceAutoscaler or ScaledObject is about it, or it is seconds old";
  return new DebugError("NothingKnown", `Cannot explain ${kind} "${namespace}/${name}": ${why}`);
}

export interface WatchOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Finds the podfits that may have a record of it. Rejects with a DebugError. */
  readonly open: () => Promise<readonly DebugListener[]>;
  readonly explain: (listeners: readonly DebugListener[]) => Promise<Explanation>;
  /** Returns false when the reader of the output has ended, which ends the command. */
  readonly onExplained: (explained: Explanation) => boolean;
  /** Why no new record came. The command continues. */
  readonly onTrouble: (text: string) => void;
}

/** The callbacks for a subject that cannot be followed, and for errors. */
const RETRY_MS = 5_000;

/** The minimum time between two explanations. */
const MIN_REDRAW_MS = 1_000;

/** After this time without an evaluation, another podfit may be the leader. */
const MAX_SILENCE_MS = 60_000;

/** Errors that end, because podfits start and stop. */
const RETRIED_REASONS: readonly DebugReason[] = ["NothingKnown", "NoPodfit", "Unreachable"];

/**
 * Runs until the signal aborts or the output has no reader. Rejects where the first explanation fails, and with errors
 * that are not temporary.
 */
export async function watchExplanation(options: WatchOptions): Promise<void> {
  const { clock, onExplained, onTrouble } = options;
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  let isExplained = false;
  const told = (explained: Explanation) => {
    isExplained = true;
    const isRead = onExplained(explained);
    if (!isRead) ending.abort();
    return isRead;
  };
  while (!signal.aborted) {
    try {
      await followOnce({ ...options, signal, onExplained: told });
    } catch (error) {
      if (signal.aborted) return;
      const passes = error instanceof DebugError && RETRIED_REASONS.includes(error.reason);
      if (!isExplained || !passes) throw error;
      onTrouble(`${error.message}; asking again every ${RETRY_MS / 1000}s`);
    }
    await clock.sleep(RETRY_MS, signal).catch(() => {});
  }
}

/** Until the podfit ends its answer, or is silent. */
async function followOnce({ open, explain, onExplained, onTrouble, clock, signal }: WatchOptions): Promise<void> {
  const listeners = await abortable(open(), signal);
  const show = async () => {
    const explained = await abortable(explain(listeners), signal);
    onExplained(explained);
    return explained;
  };
  const query = toQuery(await show());
  if (query === null) return;
  const following = new AbortController();
  const until = AbortSignal.any([signal, following.signal]);
  try {
    const { name, response } = await askUntilAnswered(listeners, async (one) => ({
      name: one.name,
      response: await one.open({ ...query, watch: true, past: false }, until),
    }));
    await redraw(readTexts(response, { signal: until, clock, silentMs: MAX_SILENCE_MS }), { show, clock, signal });
    onTrouble(
      `${name} closed the stream: it restarts, or the ${
        query.pod === undefined ? "ScaledObject" : "pod"
      } is gone; asking again every ${RETRY_MS / 1000}s`,
    );
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "TimeoutError") throw error;
  } finally {
    following.abort();
  }
}

/** `null` where podfit does not decide about the pod as a whole. */
function toQuery({ kind, namespace, name }: Explanation): DebugQuery | null {
  switch (kind) {
    case "pod":
      return { namespace, pod: name };
    case "scaledObject":
      return { namespace, scaledObject: name };
    case "workload":
      return null;
  }
}

interface RedrawOptions extends Pick<WatchOptions, "clock" | "signal"> {
  readonly show: () => Promise<unknown>;
}

/** Ends with the texts. */
async function redraw(texts: AsyncIterable<unknown>, { show, clock, signal }: RedrawOptions): Promise<void> {
  // An evaluation may have arrived before the loop waits.
  let [isNews, isOver, wake] = [true, false, () => {}];
  const listening = listen().finally(() => {
    isOver = true;
    wake();
  });
  // Awaited below, where showing does not fail before.
  listening.catch(() => {});

  async function listen(): Promise<void> {
    for await (const _ of texts) {
      isNews = true;
      wake();
    }
  }

  for (let shownMs = clock.monotonic(); !isOver;) {
    if (!isNews) {
      await new Promise<void>((resolve) => wake = resolve);
      continue;
    }
    await clock.sleep(Math.max(0, shownMs + MIN_REDRAW_MS - clock.monotonic()), signal);
    isNews = false;
    shownMs = clock.monotonic();
    await show();
  }
  await listening;
}

type ViewOptions = Pick<ExplainOptions, "format">;

/** On a terminal in place, below any trouble; elsewhere when the answer changes. Disposal restores the terminal. */
interface View extends Disposable {
  /** Returns false when the reader of stdout has ended. Only a write shows that. */
  readonly show: (explained: Explanation) => boolean;
  /** Until the next text is shown. */
  readonly complain: (trouble: string) => void;
}

function printExplanation(explained: Explanation, { format }: ViewOptions): boolean {
  return isData(format) ? writeData(explained, format) : writeLines(toText(explained, getTextOptions()));
}

function openView(options: ViewOptions): View {
  return Deno.stdout.isTerminal() && !isData(options.format) ? openScreenView() : openPrintedView(options);
}

function openScreenView(): View {
  let screen: Screen | null = null;
  let shown: Explanation | null = null;
  function draw(trouble: string): boolean {
    screen ??= openScreen();
    return screen.draw(({ columns, rows }) => {
      const options = { style: createStyle(!Deno.noColor), columns };
      const amiss = trouble === "" ? [] : breakLines(trouble, options).map((line) => options.style.magenta(line));
      return fillScreen([...amiss, ...shown === null ? [] : toText(shown, options)], rows);
    });
  }
  return {
    show(explained) {
      shown = explained;
      return draw("");
    },
    complain: draw,
    [Symbol.dispose]: () => screen?.[Symbol.dispose](),
  };
}

function openPrintedView(options: ViewOptions): View {
  let [answer, amiss] = ["", ""];
  return {
    show(explained) {
      const isNews = explained.answer !== answer;
      [answer, amiss] = [explained.answer, ""];
      return isNews ? printExplanation(explained, options) : true;
    },
    complain(trouble) {
      if (trouble !== amiss) writeError(trouble);
      amiss = trouble;
    },
    [Symbol.dispose]() {},
  };
}

function toText(explained: Explanation, options: TextOptions): readonly Text[] {
  return explained.kind === "pod" ? describePod(explained, options) : describeWorkload(explained, options);
}

/** What was typed, and where. */
export interface SubjectQuery {
  readonly subject: Subject;
  /** It was typed without a kind. */
  readonly isBare: boolean;
  readonly namespace: string;
}

interface FoundSubject {
  readonly subject: Subject;
  /** How the subject differs from what was typed; `null` = it is the same. */
  readonly note: string | null;
}

/**
 * Resolves to what the user asks about. A name without a kind is a pod's. Where no such pod exists, it is that of a
 * workload, a ScaledObject or a PodResourceAutoscaler. An autoscaler with a target is about that workload.
 *
 * Rejects with a DebugError where there is none of that name, or where nothing answers.
 */
export async function findSubject(
  server: Server,
  { subject, isBare, namespace }: SubjectQuery,
  signal: AbortSignal,
): Promise<FoundSubject> {
  const { name } = subject;
  for (const kind of isBare ? KINDS : [subject.kind]) {
    const object = await fetchSubject(server, { kind, name }, { namespace, signal });
    if (object === null) continue;
    const found = kind === "podresourceautoscaler" ? toTarget(object) ?? { kind, name } : { kind, name };
    const isSame = found.kind === subject.kind && found.name === name;
    const why = kind === subject.kind
      ? `${kind}/${name} is about it`
      : `there is no ${subject.kind} "${namespace}/${name}"`;
    return { subject: found, note: isSame ? null : `Explaining ${found.kind}/${found.name}: ${why}` };
  }
  const what = isBare ? "pod or workload" : subject.kind;
  const how = isBare ? "; other kinds are written deployment/NAME" : "";
  throw new DebugError(
    "NoPod",
    `Cannot find ${what} "${name}" in namespace "${namespace}": there is none; name another with -n${how}`,
  );
}

/** `null` = there is none. An object that may not be read may be there: podfit may have records of it. */
async function fetchSubject(
  server: Server,
  { kind, name }: Subject,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
): Promise<unknown> {
  const [prefix, plural] = SUBJECT_PLACES[kind];
  try {
    return await fetchOne(server, `${prefix}${toPath`/namespaces/${namespace}/${plural}/${name}`}`, signal);
  } catch (error) {
    if (kind !== "pod" && error instanceof DebugError && error.reason === "NoRight") return kind;
    throw error;
  }
}

/** The workload that an autoscaler is about; `null` for one with a selector. */
function toTarget(autoscaler: unknown): Subject | null {
  const [kind, name] = [getField(autoscaler, "spec", "target", "kind"), getField(autoscaler, "spec", "target", "name")];
  const found = typeof kind === "string" ? KINDS.find((one) => one === kind.toLowerCase()) : undefined;
  return found === undefined || typeof name !== "string" ? null : { kind: found, name };
}
