/** `podfit explain`: why has this pod its size, and this workload its number of pods? */
import type { ApiServer } from "../../kube/transport.ts";
import type { RecordLine } from "../../record/line.ts";
import { abortable } from "../../runtime/abortable.ts";
import { systemClock } from "../../runtime/clock.ts";
import { openUsage } from "../open_usage.ts";
import { writeError } from "../terminal/output.ts";
import { StartError } from "../run/start_error.ts";
import type { Access } from "./access.ts";
import { answer } from "./answer.ts";
import { DebugError, type DebugListener, type DebugSource } from "./debug_source.ts";
import type { Explanation } from "./explanation.ts";
import { hasSeenEnough, toSource } from "./look.ts";
import type { ExplainOptions } from "./options.ts";
import { explainFrom } from "./records.ts";
import { openView, printExplanation, type View } from "./view.ts";
import { watchExplanation } from "./watch.ts";
import { lookOnce, UNKNOWN_WITHOUT_DAEMON } from "./without_daemon.ts";

/** Resolves to the exit code: 0 = explained, 1 = there is no explanation. */
export function explain(options: ExplainOptions): Promise<number> {
  return answer(options.access, async (access, signal) => {
    const asking = { ...options, access, signal };
    if (options.watches) await watch(asking);
    else printExplanation(await abortable(explainOnce(asking), signal), options);
  });
}

interface Asking extends Omit<ExplainOptions, "access"> {
  readonly access: Access;
  readonly signal: AbortSignal;
}

async function explainOnce(asking: Asking): Promise<Explanation> {
  if (asking.withoutDaemon) return await lookAndExplain(asking);
  const listeners = await orNone(open(asking));
  return listeners === null ? await lookAndExplain(asking) : await explainBy(listeners, asking);
}

function open({ access, subject: { kind, name }, signal }: Asking): Promise<readonly DebugListener[]> {
  return access.open({ namespace: access.namespace, pod: kind === "pod" ? name : null }, signal);
}

function explainBy(
  sources: readonly DebugSource[],
  { access: { namespace }, subject, signal }: Asking,
  unknown: readonly string[] = [],
): Promise<Explanation> {
  return explainFrom(sources, subject, { namespace, signal, now: () => systemClock.now(), unknown });
}

/** `null` where there is no podfit, which is told. */
async function orNone<T>(asked: Promise<T>): Promise<T | null> {
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

async function lookAndExplain(asking: Asking): Promise<Explanation> {
  const { access: { server } } = asking;
  if (server === null) throw new StartError("Cannot look at the cluster: --url names a podfit and no API server");
  return await explainBy([toSource(await look(server, asking))], asking, UNKNOWN_WITHOUT_DAEMON);
}

async function look(
  server: ApiServer,
  { access: { namespace }, subject, signal }: Asking,
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

/** Where there is no podfit, one look after the other. */
async function watch(asking: Asking): Promise<void> {
  using view = openView(asking);
  const { signal } = asking;
  const watching = watchExplanation({
    clock: systemClock,
    signal,
    open: () => open(asking),
    explain: (listeners) => explainBy(listeners, asking),
    onExplained: view.show,
    onTrouble: view.complain,
  });
  if (await orNone(watching.then(() => true)) === null) await watchByLooks(asking, view);
}

const LOOK_MS = 5_000;

async function watchByLooks(asking: Asking, view: View): Promise<void> {
  const { signal } = asking;
  while (!signal.aborted) {
    view.show(await abortable(explainOnce(asking), signal));
    await systemClock.sleep(LOOK_MS, signal).catch(() => {});
  }
}
