/**
 * What podfit's log says, by its fields: lines of JSON, among which those about a decision are known by the fields that
 * they have, and not by their words.
 */
import type { PodRef } from "./cluster.ts";

/** A line of the JSON log: `@timestamp`, `level`, `message`, and the fields of the message beside them. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly message: string };

/** One evaluation of one container. */
export interface Decision {
  /** When it was logged, in epoch ms. */
  readonly at: number;
  readonly level: string;
  readonly pod: string;
  /** `null` where nothing was wanted. */
  readonly action: string | null;
  /** Why it came to nothing, or why a size is given up; `null` for a resize. */
  readonly reason: string | null;
  readonly why: string | null;
  /** Whether there was new usage. */
  readonly isNewSample: boolean;
}

/** `pod`: by the pod's name, whichever autoscaler decided. */
export type Subject = { readonly pod: PodRef } | {
  readonly autoscaler: { readonly namespace: string; readonly name: string };
};

/** Lines that are no JSON, such as a crash's, are left out. */
export function parseLog(lines: readonly string[]): readonly LogLine[] {
  return lines.flatMap((line): readonly LogLine[] => {
    if (!line.startsWith("{")) return [];
    try {
      return [JSON.parse(line) as LogLine];
    } catch {
      return [];
    }
  });
}

export function readDecisions(log: readonly LogLine[], subject: Subject): readonly Decision[] {
  return log.filter((line) => isAbout(line, subject)).flatMap((line): readonly Decision[] => {
    const { isNewSample, level, pod } = line;
    if (typeof isNewSample !== "boolean") return [];
    const texts = { action: toText(line.action), reason: toText(line.reason), why: toText(line.why) };
    return [{ at: readAt(line), level, pod: String(pod), ...texts, isNewSample }];
  });
}

/** When the line was written, in epoch ms; NaN without a line. */
export function readAt(line: LogLine | undefined): number {
  return Date.parse(String(line?.["@timestamp"]));
}

export function isWarning({ level }: LogLine): boolean {
  return level === "WARN" || level === "ERROR";
}

function isAbout(line: LogLine, subject: Subject): boolean {
  if ("pod" in subject) return line.pod === subject.pod.name;
  const { namespace, name } = subject.autoscaler;
  return line.autoscaler === `${namespace}/${name}`;
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
