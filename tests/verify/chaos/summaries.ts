/** Summaries as text, for suites that make and read them; a source gives them in a form of its own. */
import { parseSummary, type SummaryOptions, type SummaryReading } from "../../../lib/usage/kubelet/parse_summary.ts";
import type { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";

/** How a source of usage is asked for a node's summary. */
export type FetchSummary = Parameters<typeof watchKubelets>[0]["fetchSummary"];
/** What it gives. */
export type SummaryAnswer = Awaited<ReturnType<FetchSummary>>;

/** An answer with this text, from a node whose clock is right. */
export function toSummaryAnswer(text: string): SummaryAnswer {
  return { kind: "summary", bytes: new TextEncoder().encode(text), clockOffsetMs: 0 };
}

/** The text of an answer; `null` for one that failed. */
export function readSummaryText(answer: SummaryAnswer): string | null {
  return answer.kind === "summary" ? new TextDecoder().decode(answer.bytes) : null;
}

/** As a poll reads it. */
export function parseSummaryText(text: string, options: SummaryOptions): SummaryReading {
  return parseSummary(new TextEncoder().encode(text), options);
}
