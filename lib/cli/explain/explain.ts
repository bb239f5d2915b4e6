/** `podfit explain`: why has this pod its size, and this workload its number of pods? */
import { abortable } from "../../runtime/abortable.ts";
import { systemClock } from "../../runtime/clock.ts";
import { fallBack } from "../../usage/auto/fall_back.ts";
import { createProxySource } from "../../usage/kubelet.ts";
import { openMetricsApi } from "../../usage/metrics_api/watch_metrics_api.ts";
import { watchKubelets } from "../../usage/watch_kubelets.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { RecordLine } from "../../record/line.ts";
import { openScreen, readConsoleSize } from "../demo/screen.ts";
import { writeError, writeOutput } from "../output.ts";
import { StartError } from "../run/start_error.ts";
import { listenForSignals } from "../signals.ts";
import { type Access, openAccess } from "./access.ts";
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
export async function explain(options: ExplainOptions): Promise<number> {
  using ending = listenForSignals();
  const { signal } = ending;
  try {
    await using access = await openAccess(options.access, signal);
    const asked = { ...options, namespace: options.namespace ?? access.namespace };
    if (options.watches) await watch(access, asked, signal);
    else print(await abortable(explainOnce(access, asked, signal), signal), options);
    return 0;
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof DebugError) && !(error instanceof StartError)) throw error;
    writeError(error.message);
    return 1;
  }
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
  const timing = { clock: systemClock, random: Math.random };
  const scope = { namespaces: [namespace], node: null, pod: null };
  using summaries = createProxySource(server, timing);
  using api = openMetricsApi({ server, scope, ...timing });
  const kubelets = watchKubelets(summaries, timing);
  let seen = 0;
  writeError(`Looking at ${subject.kind} ${namespace}/${subject.name} for two samples of usage, which takes up to 90s`);
  return await lookOnce({
    server,
    clock: systemClock,
    namespace,
    watchUsage: fallBack(
      { name: "kubelet", watchUsage: kubelets },
      { name: "metrics-api", watchUsage: api.watchUsage },
      timing,
    ),
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
  if (isJson) writeOutput(`${JSON.stringify(explained)}\n`);
  else {
    const isTerminal = Deno.stdout.isTerminal();
    const columns = isTerminal ? readConsoleSize().columns : Infinity;
    writeOutput(`${toText(explained, { hasColor: isTerminal && !Deno.noColor, columns }).join("\n")}\n`);
  }
}

function toText(explained: Explanation, options: TextOptions): readonly string[] {
  return explained.kind === "pod" ? describePod(explained, options) : describeWorkload(explained, options);
}
