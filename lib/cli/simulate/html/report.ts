/** The data of the report, and how its texts and axes are written. */
import type { Simulation } from "../../../simulate/simulate.ts";
import type { UnknownResources } from "../../loads/loads.ts";

export interface Report {
  /** The workload, or the file of the load. */
  readonly title: string;
  /** What it takes to make it again: name and value. */
  readonly about: readonly (readonly [name: string, value: string])[];
  /** One per policy on the same load, and those that are never resized. */
  readonly runs: readonly ReportRun[];
  /** The resources of each container that no load has. */
  readonly unknown: UnknownResources;
  /** What a sweep tried; empty without one. */
  readonly candidates: readonly ReportCandidate[];
}

export interface ReportRun {
  /** The name of the policy. */
  readonly name: string;
  /** With its series, which the plots need: about 1000 steps, or 1000 a day. */
  readonly simulation: Simulation;
  /** Without autoscalers: the other runs of its group are compared with it. */
  readonly isBaseline: boolean;
  /** The workload. */
  readonly group: string;
  /** Second, and pods from then on; empty without a change. */
  readonly replicas: readonly (readonly [second: number, replicas: number])[];
}

/** One policy of a sweep. */
export interface ReportCandidate {
  readonly name: string;
  /** Millicores, the mean over the run. */
  readonly slack: number;
  readonly throttledSeconds: number;
  readonly oomKills: number;
  readonly resizesPerHour: number;
  /** No other candidate is at least as good in each of these and better in one. */
  readonly isOnFront: boolean;
}

/** Escapes text for elements and quoted attributes. Control characters, which HTML refuses, are made visible. */
export function escapeHtml(text: string): string {
  const visible = text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`,
  );
  return visible.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A coordinate with a tenth of a pixel. A value that is not a number becomes 0, because it would break the drawing. */
export function formatCoordinate(value: number): string {
  return Number.isFinite(value) ? `${Math.round(value * 10) / 10}` : "0";
}

/** About `count` round ticks from 0 to at least `most`; in binary steps for bytes. */
export function listTicks(
  most: number,
  { count, base }: { readonly count: number; readonly base: 2 | 10 },
): readonly number[] {
  if (!(most > 0)) return [0, 1];
  const step = pickStep(most / count, base);
  const last = Math.max(1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: last + 1 }, (_, index) => index * step);
}

function pickStep(value: number, base: 2 | 10): number {
  const power = base ** Math.floor(Math.log(value) / Math.log(base));
  const factors = base === 2 ? [1, 2] : [1, 2, 2.5, 5, 10];
  return power * (factors.find((factor) => factor * power >= value * 0.999) ?? base);
}

const TIME_STEPS = [
  10,
  30,
  60,
  300,
  600,
  1800,
  3600,
  7200,
  14_400,
  21_600,
  43_200,
  86_400,
  172_800,
  604_800,
  2_592_000,
];

/** A part of a run. */
export interface TimeRange {
  /** Seconds since the start of the run. */
  readonly from: number;
  readonly to: number;
}

/** Seconds at which a time axis is marked, at most `count` of them. */
export function listTimes({ from, to }: TimeRange, count: number): readonly number[] {
  const step = TIME_STEPS.find((one) => (to - from) / one <= count) ?? Math.ceil((to - from) / count);
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}
