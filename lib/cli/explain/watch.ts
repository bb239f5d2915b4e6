/** `podfit explain --watch` explains anew at each evaluation that podfit tells of, and asks on where a podfit ends. */
import { abortable } from "../../runtime/abortable.ts";
import type { Clock } from "../../runtime/clock.ts";
import { DebugError, type DebugListener, type DebugQuery, type DebugReason } from "./debug_source.ts";
import type { Explanation } from "./explanation.ts";
import { askInTurn } from "./listener.ts";
import { readTexts } from "./read_lines.ts";

export interface WatchOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Finds the podfits that may know of it. Rejects with a DebugError. */
  readonly open: () => Promise<readonly DebugListener[]>;
  readonly explain: (listeners: readonly DebugListener[]) => Promise<Explanation>;
  readonly onExplained: (explained: Explanation) => void;
  /** Why there is no news, and that it goes on. */
  readonly onTrouble: (text: string) => void;
}

/** Where nothing can be followed, and where something went wrong. */
const ASK_MS = 5_000;
/** Between two explanations at least. */
const PACE_MS = 1_000;
/** Without an evaluation for so long, another podfit may have taken over. */
const SILENT_MS = 60_000;

/** What passes, as podfits come and go. */
const PASSING: readonly DebugReason[] = ["NothingKnown", "NoPodfit", "Unreachable"];

/** Until the signal aborts. Rejects where there is no explanation at first, and with what does not pass. */
export async function watchExplanation(options: WatchOptions): Promise<void> {
  const { clock, signal, onExplained, onTrouble } = options;
  let isExplained = false;
  const told = (explained: Explanation) => {
    isExplained = true;
    onExplained(explained);
  };
  while (!signal.aborted) {
    try {
      await followOnce({ ...options, onExplained: told });
    } catch (error) {
      if (signal.aborted) return;
      const passes = error instanceof DebugError && PASSING.includes(error.reason);
      if (!isExplained || !passes) throw error;
      onTrouble(`${error.message}; asking again every ${ASK_MS / 1000}s`);
    }
    await clock.sleep(ASK_MS, signal).catch(() => {});
  }
}

/** Until the podfit that is followed ends its answer, or is silent. */
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
    const { name, response } = await askInTurn(listeners, async (one) => ({
      name: one.name,
      response: await one.open({ ...query, watch: true, past: false }, until),
    }));
    await redraw(readTexts(response, { signal: until, clock, silentMs: SILENT_MS }), { show, clock, signal });
    onTrouble(
      `${name} closed the stream: it restarts, or the ${
        query.pod === undefined ? "ScaledObject" : "pod"
      } is gone; asking again every ${ASK_MS / 1000}s`,
    );
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "TimeoutError") throw error;
  } finally {
    following.abort();
  }
}

/** `null` where nobody decides of it as a whole. */
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

/** Until there are no more texts. */
async function redraw(texts: AsyncIterable<unknown>, { show, clock, signal }: RedrawOptions): Promise<void> {
  // An evaluation may have come before anybody listened.
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
    await clock.sleep(Math.max(0, shownMs + PACE_MS - clock.monotonic()), signal);
    isNews = false;
    shownMs = clock.monotonic();
    await show();
  }
  await listening;
}
