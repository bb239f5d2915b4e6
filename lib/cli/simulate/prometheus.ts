/** Asks Prometheus for a load, within bounds. */
import { BodyTooLarge, readText } from "../../kube/body.ts";
import { systemClock } from "../../runtime/clock.ts";
import { type GetText, MAX_ANSWER_BYTES, type PrometheusRange } from "../../simulate/load/prometheus.ts";
import type { AskedPrometheus } from "./from.ts";

/** What is asked, and how. */
export interface PrometheusSource {
  readonly range: PrometheusRange;
  readonly get: GetText;
}

/** The last `spanMs` up to now. */
export function openPrometheus({ memoryQuery, ...asked }: AskedPrometheus, spanMs: number): PrometheusSource {
  const to = systemClock.now();
  const range = { ...asked, from: to - spanMs, to, ...memoryQuery === null ? {} : { memoryQuery } };
  return { range, get: getText };
}

const ANSWER_MS = 60_000;

async function getText(url: string): Promise<{ readonly status: number; readonly text: string }> {
  using timeout = systemClock.timeout(ANSWER_MS);
  try {
    const response = await fetch(url, { signal: timeout.signal, headers: { accept: "application/json" } });
    const text = await readText(response, { limitBytes: MAX_ANSWER_BYTES, signal: timeout.signal });
    return { status: response.status, text };
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      throw new Error("the answer has more than 32 MiB; ask for less", { cause: error });
    }
    if (timeout.signal.aborted) throw new Error(`no answer within ${ANSWER_MS / 1000} s`, { cause: error });
    throw error;
  }
}
