/** The records that an explanation is made of, asked of every podfit that may have them. */
import { Limit } from "../../runtime/limit.ts";
import type { PodLine, RecordLine, ScaledObjectLine } from "../../record/line.ts";
import type { Subject } from "../subject.ts";
import { DebugError, type DebugQuery, type DebugSource } from "./debug_source.ts";
import { explainPod } from "./explain_pod.ts";
import { explainPlainWorkload, explainWorkload } from "./explain_workload.ts";
import type { Explanation } from "./explanation.ts";
import { askInTurn } from "./listener.ts";
import { isNameOf, nameTarget } from "./targets.ts";

export interface RecordsOptions {
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** What the sources cannot know. */
  readonly unknown?: readonly string[];
}

/** There may be a podfit on each of a thousand nodes. */
const MOST_AT_ONCE = 16;
/** Lines beyond this are none of an hour of one pod. */
const MOST_LINES = 50_000;

/** Throws a DebugError where none of the sources has anything of the subject. */
export async function explainFrom(
  sources: readonly DebugSource[],
  subject: Subject,
  options: RecordsOptions,
): Promise<Explanation> {
  const { namespace, now, unknown = [] } = options;
  if (subject.kind === "pod") {
    const lines = await askInTurn(sources, (one) => readAll(one, { namespace, pod: subject.name }, options));
    const explained = explainPod(lines.filter((line) => line.kind === "pod"), { now: now(), unknown });
    if (explained !== null) return explained;
    throw nothingKnown(subject, options);
  }
  const latest = await readLatest(sources, { namespace }, options);
  const objects = latest.filter((line) => line.kind === "scaledObject");
  const object = objects.find((line) => isAbout(line, subject));
  const target = object === undefined ? `${subject.kind}/${subject.name}` : nameTarget(object);
  const pods = latest.filter((line) => line.kind === "pod").filter(({ name }) =>
    target !== null && isNameOf(name, target)
  );
  if (object === undefined) return explainPods(pods, subject, options);
  const lines = await askInTurn(sources, (one) => readAll(one, { namespace, scaledObject: object.name }, options));
  const own = lines.filter((line) => line.kind === "scaledObject");
  const explained = explainWorkload(own.length === 0 ? [object] : own, { now: now(), pods, unknown });
  if (explained !== null) return explained;
  throw nothingKnown(subject, options);
}

function isAbout(line: ScaledObjectLine, { kind, name }: Subject): boolean {
  return kind === "scaledobject" ? line.name === name : nameTarget(line) === `${kind}/${name}`;
}

/** Nobody sets its replicas by a ScaledObject: what is known are its pods. */
function explainPods(pods: readonly PodLine[], subject: Subject, options: RecordsOptions): Explanation {
  if (pods.length === 0) throw nothingKnown(subject, options);
  const { namespace, now, unknown = [] } = options;
  return explainPlainWorkload({ namespace, now: now(), pods, unknown, target: `${subject.kind}/${subject.name}` });
}

function nothingKnown({ kind, name }: Subject, { namespace }: RecordsOptions): DebugError {
  const why = "podfit has no record of it: no PodResourceAutoscaler or ScaledObject is about it, or it is seconds old";
  return new DebugError("NothingKnown", `Cannot explain ${kind} "${namespace}/${name}": ${why}`);
}

/** The newest line of everything that any of them has. */
export async function readLatest(
  sources: readonly DebugSource[],
  query: DebugQuery,
  options: Pick<RecordsOptions, "signal">,
): Promise<readonly RecordLine[]> {
  const slots = new Limit(MOST_AT_ONCE);
  const all = await Promise.all(sources.map(async (source) => {
    using _slot = await slots.acquire(options.signal);
    return await readAll(source, { ...query, latest: true }, options);
  }));
  const newest = new Map<string, RecordLine>();
  for (const line of all.flat()) {
    const key = `${line.kind} ${line.uid}`;
    const other = newest.get(key);
    if (other === undefined || other.record.input.now < line.record.input.now) newest.set(key, line);
  }
  return [...newest.values()];
}

async function readAll(
  source: DebugSource,
  query: DebugQuery,
  { signal }: Pick<RecordsOptions, "signal">,
): Promise<readonly RecordLine[]> {
  const lines: RecordLine[] = [];
  for await (const line of source.read(query, signal)) {
    lines.push(line);
    if (lines.length > MOST_LINES) {
      throw new DebugError("BadAnswer", `Cannot use the records of ${source.name}: more than ${MOST_LINES} lines`);
    }
  }
  return lines;
}
