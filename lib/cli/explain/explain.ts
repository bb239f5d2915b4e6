/** `podfit explain`: why has this pod its size, and this workload its number of pods? */
import { abortable } from "../../runtime/abortable.ts";
import { systemClock } from "../../runtime/clock.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { RecordLine } from "../../record/line.ts";
import { openScreen } from "../demo/screen.ts";
import { openUsage } from "../open_usage.ts";
import { writeError, writeOutput } from "../output.ts";
import { StartError } from "../run/start_error.ts";
import type { Access } from "./access.ts";
import { answer, readTextOptions } from "./answer.ts";
import { DebugError, type DebugSource } from "./debug_source.ts";
import type { Explanation } from "./explanation.ts";
import { hasSeenEnough, toSource } from "./look.ts";
import type { ExplainOptions } from "./options.ts";
import { fill, type TextOptions } from "./paint.ts";
import { describePod } from "./pod_words.ts";
import { explainFrom } from "./records.ts";
import { lookOnce, UNKNOWN_WITHOUT_DAEMON } from "./without_daemon.ts";
import { describeWorkload } from "./workload_words.ts";

/** Resolves to the exit code: 0 = explained, 1 = there is no explanation. */
export function explain(options: ExplainOptions): Promise<number> {
  return answer(options.access, async (access, signal) => {
    const asked = { ...options, namespace: options.namespace ?? access.namespace };
    if (options.watches) await watch(access, asked, signal);
    else print(await abortable(explainOnce(access, asked, signal), signal), options);
  });
}

interface Asked extends ExplainOptions {
  readonly namespace: string;
}

async function explainOnce(access: Access, asked: Asked, signal: AbortSignal): Promise<Explanation> {
  const { subject, namespace, withoutDaemon } = asked;
  const options = { namespace, signal, now: () => systemClock.now() };
  if (!withoutDaemon) {
    const sources = await openOrNone(access, asked, signal);
    if (sources !== null) return await explainFrom(sources, subject, options);
  }
  const { server } = access;
  if (server === null) throw new StartError("Cannot look at the cluster: --url names a podfit and no API server");
  const lines = await look(server, asked, signal);
  return await explainFrom([toSource(lines)], subject, { ...options, unknown: UNKNOWN_WITHOUT_DAEMON });
}

/** `null` where there is no podfit, which is told. */
async function openOrNone(
  access: Access,
  { subject, namespace }: Asked,
  signal: AbortSignal,
): Promise<readonly DebugSource[] | null> {
  try {
    return await access.open({ namespace, pod: subject.kind === "pod" ? subject.name : null }, signal);
  } catch (error) {
    if (!(error instanceof DebugError) || error.reason !== "NoPodfit") throw error;
    writeError(`${error.message}; looking without one`);
    return null;
  }
}

async function look(
  server: ApiServer,
  { subject, namespace }: Asked,
  signal: AbortSignal,
): Promise<readonly RecordLine[]> {
  using usage = openUsage(server, { clock: systemClock, namespaces: [namespace] });
  let seen = 0;
  writeError(`Looking at ${subject.kind} ${namespace}/${subject.name} for two samples of usage, which takes up to 90s`);
  return await lookOnce({
    server,
    clock: systemClock,
    namespace,
    watchUsage: usage.watchUsage,
    looksAtReplicas: subject.kind !== "pod",
    isEnough: (lines) => hasSeenEnough(lines, subject),
    onLine(line) {
      if (line.kind !== "pod" || line.name !== subject.name || line.record.input.observation.kind !== "usage") return;
      seen++;
      writeError(`Seen ${seen} ${seen === 1 ? "reading" : "readings"} of its usage`);
    },
    signal,
  });
}

const WATCH_MS = 5_000;

/** On a terminal in place; elsewhere whenever the answer is another. */
async function watch(access: Access, asked: Asked, signal: AbortSignal): Promise<void> {
  const isDrawn = Deno.stdout.isTerminal() && !asked.isJson;
  using screen = isDrawn ? openScreen() : null;
  let told = "";
  while (!signal.aborted) {
    const explained = await explainOnce(access, asked, signal);
    if (screen !== null) {
      screen.draw(({ columns, rows }) => fill(toText(explained, { hasColor: !Deno.noColor, columns }), rows));
    } else if (explained.answer !== told) print(explained, asked);
    told = explained.answer;
    await systemClock.sleep(WATCH_MS, signal).catch(() => {});
  }
}

function print(explained: Explanation, { isJson }: Pick<ExplainOptions, "isJson">): void {
  const text = isJson ? JSON.stringify(explained) : toText(explained, readTextOptions()).join("\n");
  writeOutput(`${text}\n`);
}

function toText(explained: Explanation, options: TextOptions): readonly string[] {
  return explained.kind === "pod" ? describePod(explained, options) : describeWorkload(explained, options);
}
