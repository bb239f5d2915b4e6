/**
 * `podfit replay`: runs recorded evaluations through the decisions again, and shows which fields differ.
 *
 * With `--policy` it shows what another policy would have decided on the recorded usage.
 */
import { decideReplicas } from "../../horizontal/decide.ts";
import { type Autoscaler, EVERY_CONTAINER } from "../../model/autoscaler.ts";
import type { ContainerDecision, Decision, SizeOutcome } from "../../model/decision.ts";
import { describeChange, formatFieldAmount, listChangedFields } from "../../model/resize_request.ts";
import type { PodState } from "../../model/state.ts";
import { parseLine } from "../../record/parse.ts";
import type { PodLine, RecordLine } from "../../record/record.ts";
import { parseAutoscaler } from "../../resources/pod_resource_autoscaler/parse.ts";
import { RESOURCE_FIELDS, type Resources } from "../../units/resources.ts";
import { formatTime } from "../../units/time.ts";
import { isRecord, type Problem } from "../../units/untrusted.ts";
import { decideSize } from "../../vertical/decide.ts";
import { describeFileError, EXIT, StartError } from "../command/process.ts";
import { formatCount } from "../terminal/numbers.ts";
import { writeLines } from "../terminal/output.ts";
import type { ReplayOptions } from "./options.ts";
import { parseAll } from "../../runtime/yaml.ts";

/** Resolves to the exit code: 0 = the same decisions, 1 = different ones. Rejects with a StartError for an unreadable file. */
export async function replay({ path, policyPath }: ReplayOptions): Promise<number> {
  return policyPath === null ? await check(path) : await compare(path, policyPath);
}

/** The maximum number of different lines that are shown. */
const MAX_SHOWN = 3;

async function check(path: string): Promise<number> {
  let [lines, evaluations, differing] = [0, 0, 0];
  for await (const { number, line } of readTrace(path)) {
    lines++;
    evaluations += line.count;
    const differences = checkLine(line);
    if (differences.length === 0) continue;
    differing++;
    if (differing > MAX_SHOWN) continue;
    writeLines([`line ${number}, ${describeLine(line)}, differs:`, ...describeDifferences(differences)]);
  }
  if (lines === 0) throw new StartError(`Cannot replay "${path}": it holds no record`);
  const whole = `${formatCount(lines, "record")} of ${formatCount(evaluations, "evaluation")}`;
  writeLines([
    differing === 0
      ? `${whole}: all decided the same`
      : `${whole}: ${differing} decided otherwise, ${lines - differing} the same`,
  ]);
  return differing === 0 ? EXIT.ok : EXIT.found;
}

async function compare(path: string, policyPath: string): Promise<number> {
  const policy = await readPolicy(policyPath);
  const { take, summarize, isAsked } = createComparison(policy, policyPath);
  for await (const { line } of readTrace(path)) {
    if (line.kind === "pod") writeLines(take(line));
  }
  if (!isAsked()) {
    const { containerName } = policy;
    throw new StartError(
      `Cannot compare "${path}" with "${policyPath}": the trace has no pod with an autoscaler for container "${containerName}"`,
    );
  }
  writeLines(summarize());
  return EXIT.ok;
}

async function readPolicy(path: string): Promise<Autoscaler> {
  const refuse = (why: string) => new StartError(`Cannot read "${path}": ${why}`);
  let objects: readonly unknown[];
  try {
    objects = parseAll(await Deno.readTextFile(path));
  } catch (error) {
    throw refuse(describeFileError(error));
  }
  const found = objects.filter((object) => isRecord(object) && object["kind"] === "PodResourceAutoscaler");
  if (found.length !== 1) throw refuse(`it holds ${found.length} PodResourceAutoscalers, and one is needed`);
  const parsed = parseAutoscaler(found[0]);
  if (parsed.ok) return parsed.autoscaler;
  const [first] = parsed.problems;
  throw refuse(`${first?.path}: ${first?.message}; podfit lint -f ${path} says more`);
}

/** Returns where the decision differs from the recorded one, by paths within the outcome. Never throws. */
export function checkLine(line: RecordLine): readonly Difference[] {
  try {
    return findDifferences(line.record.outcome, decideAgain(line));
  } catch (error) {
    // Only an edited file leads here.
    return [{ path: "", was: "an outcome", is: `an error: ${(error as Error).message}` }];
  }
}

function decideAgain(line: RecordLine): unknown {
  return line.kind === "pod"
    ? decideSize(line.record.before, line.record.input)
    : decideReplicas(line.record.before, line.record.input);
}

/** Counts of resizes, made or proposed. */
interface Resizes {
  up: number;
  down: number;
}

/** Takes lines of pods in the order of the file. */
interface Comparison {
  /** Returns the rows for a record, where the two differ and did not before. */
  readonly take: (line: PodLine) => readonly string[];
  /** One line for each thing to know at the end. */
  readonly summarize: () => readonly string[];
  /** The policy decided at least one record. */
  readonly isAsked: () => boolean;
}

interface ComparedPod {
  readonly other: OtherPolicy;
  /** By container: the row before. */
  readonly rows: Map<string, string>;
  line: PodLine | null;
  sizes: OtherOutcome["sizes"];
}

function createComparison(policy: Autoscaler, name: string): Comparison {
  const pods = new Map<string, ComparedPod>();
  const [recorded, others]: readonly Resizes[] = [{ up: 0, down: 0 }, { up: 0, down: 0 }];
  let asked = 0;
  let counted = 0;

  function take(line: PodLine): readonly string[] {
    const seen = pods.get(line.uid) ?? { other: createOtherPolicy(policy), rows: new Map(), line: null, sizes: {} };
    pods.set(line.uid, seen);
    const { scaled } = line.record.outcome;
    if (scaled !== null && recorded !== undefined) addResize(recorded, scaled.action);
    counted += line.count - 1;
    const outcome = seen.other(line);
    if (outcome === null) return [];
    asked++;
    Object.assign(seen, { line, sizes: outcome.sizes });
    return outcome.decisions.flatMap((decided) => toRow(line, decided, seen));
  }

  function toRow(
    line: PodLine,
    { container, autoscaler, decision }: ContainerDecision,
    { rows }: ComparedPod,
  ): readonly string[] {
    if (isResize(decision) && others !== undefined) addResize(others, decision.action);
    const was = line.record.outcome.decisions.find((one) =>
      one.container === container && one.autoscaler === autoscaler
    );
    // Where one of them decided nothing, they do not differ.
    if (was === undefined && !isResize(decision)) return [];
    const [left, right] = [describeDecision(was?.decision ?? null), describeDecision(decision)];
    const row = `${left.padEnd(DECISION_WIDTH)} | ${right}`;
    const isNews = rows.get(container) !== row;
    rows.set(container, row);
    if (left === right || !isNews) return [];
    return [`${formatAt(line.record.input.now)}  ${line.namespace}/${line.name} ${container}  ${row}`];
  }

  function summarize(): readonly string[] {
    const sizes = [...pods.values()].flatMap(({ line, sizes }) =>
      line === null ? [] : describeSizes(line, sizes, name)
    );
    return [
      `resizes: ${formatResizes(recorded)} recorded, ${formatResizes(others)} by ${name}`,
      ...sizes,
      ...(counted === 0 ? [] : [
        `${counted} evaluations are counted in the trace and not kept: what ${name} makes of them is not known`,
      ]),
    ];
  }

  return { take, summarize, isAsked: () => asked > 0 };
}

const DECISION_WIDTH = 40;

function isResize(decision: Decision): decision is Extract<Decision, { readonly kind: "blocked" }> {
  return decision.kind === "blocked" && decision.reason === "DryRun";
}

function addResize(resizes: Resizes, action: "scaleUp" | "scaleDown"): void {
  if (action === "scaleUp") resizes.up++;
  else resizes.down++;
}

function formatResizes(resizes: Resizes | undefined): string {
  const { up = 0, down = 0 } = resizes ?? {};
  return `${up + down} (${up} up, ${down} down)`;
}

function describeSizes(
  { namespace, name, record }: PodLine,
  sizes: OtherOutcome["sizes"],
  by: string,
): readonly string[] {
  return record.input.pod.containers.flatMap(({ name: container, spec }) => {
    const other = Object.hasOwn(sizes, container) ? sizes[container] : undefined;
    if (other === undefined || !record.input.contenders.some((one) => one.containerName === container)) return [];
    return [
      `at the end ${namespace}/${name} ${container}: ${describeSize(spec)} recorded, ${describeSize(other)} by ${by}`,
    ];
  });
}

function describeSize(size: Resources): string {
  return RESOURCE_FIELDS.filter((key) => size[key] !== null).map((key) => `${key} ${formatFieldAmount(key, size[key])}`)
    .join(", ");
}

/** Its decision about a record; decisions name the recorded autoscalers. */
interface OtherOutcome {
  readonly decisions: readonly ContainerDecision[];
  /** By container: the size that it would have now. */
  readonly sizes: Readonly<Record<string, Resources>>;
}

/** Replays the lines of one pod, oldest first; `null` where a record decided nothing. */
type OtherPolicy = (line: PodLine) => OtherOutcome | null;

export function createOtherPolicy(policy: Autoscaler): OtherPolicy {
  let state: PodState | null = null;
  return ({ record: { before, input } }) => {
    const contenders = input.contenders.map((one) => withOtherPolicy(one, policy));
    const isAsked = contenders.some((one, at) => one !== input.contenders[at]);
    if (input.observation.kind === "answered" || !isAsked) return null;
    const others = contenders.filter(({ mode }) => mode === "recommend");
    const outcome: SizeOutcome = decideSize(state ?? createFirstState(before, input.pod), {
      ...input,
      contenders: others,
      inFlight: false,
    });
    state = outcome.state;
    return { decisions: outcome.decisions, sizes: outcome.state.shadow?.sizes ?? {} };
  };
}

/** The policy instead of a matching autoscaler: a changed spec of the same autoscaler. */
function withOtherPolicy(contender: Autoscaler, policy: Autoscaler): Autoscaler {
  const { containerName } = policy;
  if (containerName !== EVERY_CONTAINER && containerName !== contender.containerName) return contender;
  if (policy.excludeContainers.includes(contender.containerName)) return contender;
  const { namespace, name, uid, key, generation, target, selector, isWildcard } = contender;
  const identity = { namespace, name, uid, key, target, selector, isWildcard, containerName: contender.containerName };
  return { ...policy, ...identity, generation: generation + 1, mode: "recommend", paused: false };
}

type Pod = PodLine["record"]["input"]["pod"];

/** A pod of its actual size, without a resize in progress. */
function createFirstState(before: PodState, pod: Pod): PodState {
  const idle: PodState = {
    ...before,
    shadow: null,
    command: null,
    unconfirmed: [],
    conflict: null,
    pendingSince: null,
    inProgressSince: null,
    differingSince: null,
  };
  const sizes = Object.fromEntries(pod.containers.map(({ name, spec }) => [name, spec]));
  return { ...idle, shadow: { sizes, generation: Math.max(before.generation, pod.generation ?? 0) + 1, state: idle } };
}

/** A line and its number in the file, from 1. */
interface TraceLine {
  readonly number: number;
  readonly line: RecordLine;
}

/** A record of a pod has a few KB. */
const MAX_LINE = 8 * 2 ** 20;

const STDIN = "-";

const MAX_PROBLEMS = 3;

/** Reads line by line and skips empty lines. Throws a StartError at the first line that is not a record. */
async function* readTrace(path: string): AsyncGenerator<TraceLine> {
  const name = path === STDIN ? "<stdin>" : path;
  let number = 0;
  for await (const text of readTexts(path, name)) {
    number++;
    if (text.trim() === "") continue;
    const parsed = parseLine(text);
    if (!parsed.ok) throw new StartError(`Cannot read "${name}", line ${number}: ${formatProblems(parsed.problems)}`);
    yield { number, line: parsed.value };
  }
}

async function* readTexts(path: string, name: string): AsyncGenerator<string> {
  let rest = "";
  try {
    const bytes = path === STDIN ? Deno.stdin.readable : (await Deno.open(path)).readable;
    for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      if (rest.length > MAX_LINE) throw new Error(`a line is longer than ${MAX_LINE / 2 ** 20} MiB`);
    }
  } catch (error) {
    throw new StartError(`Cannot read "${name}": ${describeFileError(error)}`, { cause: error });
  }
  yield rest;
}

function formatProblems(problems: readonly Problem[]): string {
  const said = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`
  );
  const more = problems.length - said.length;
  return [...said, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

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
        describeChange(decision.from, decision.to, listChangedFields(decision.from, decision.to))
      }`;
    case "revert":
      return `revert ${decision.reason}`;
  }
}

/** `pod "shop/web" at 2026-11-20T11:03:15Z` */
function describeLine({ kind, namespace, name, record }: RecordLine): string {
  return `${kind} "${namespace}/${name}" at ${formatAt(record.input.now)}`;
}

/** As the API writes times; a value that is not a time is printed unchanged. */
export function formatAt(at: number): string {
  return Math.abs(at) <= MAX_TIME_MS ? formatTime(at) : String(at);
}

/** https://tc39.es/ecma262/#sec-time-values-and-time-range */
const MAX_TIME_MS = 8.64e15;

/** Indented, one field per line, at most ten of them. */
function describeDifferences(differences: readonly Difference[]): readonly string[] {
  const shown = differences.slice(0, MAX_SHOWN_DIFFERENCES).flatMap(({ path, was, is }) => [
    `  outcome${path === "" ? "" : `.${path}`}`,
    `    was ${formatValue(was)}`,
    `    is  ${formatValue(is)}`,
  ]);
  const more = differences.length - MAX_SHOWN_DIFFERENCES;
  return [...shown, ...(more > 0 ? [`  and ${more} more fields`] : [])];
}

const MAX_SHOWN_DIFFERENCES = 10;

const MAX_CHARACTERS = 300;

function formatValue(value: unknown): string {
  if (value === undefined) return "not there";
  const text = JSON.stringify(value, (_, one) => typeof one === "bigint" ? String(one) : one) ?? "not there";
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}...`;
}

/** One field that differs; `undefined` = it is missing. */
interface Difference {
  /** `decisions.0.decision.reason` */
  readonly path: string;
  readonly was: unknown;
  readonly is: unknown;
}

/** In the order of the fields; an undefined field counts as missing. */
export function findDifferences(was: unknown, is: unknown, path = ""): readonly Difference[] {
  if (was === is || (Number.isNaN(was) && Number.isNaN(is))) return [];
  if (!isObject(was) || !isObject(is) || Array.isArray(was) !== Array.isArray(is)) return [{ path, was, is }];
  const keys = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...keys].flatMap((key) =>
    findDifferences(getOwn(was, key), getOwn(is, key), path === "" ? key : `${path}.${key}`)
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function getOwn(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
