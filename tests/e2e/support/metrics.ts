/**
 * Reads the Prometheus text format of `/metrics`, as far as scenarios ask: which series is there and what is its value?
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function parseMetrics(text: string): readonly MetricSample[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map(parseSample);
}

/** The sum over the series with this name and at least these labels; `null` when there is none. */
export function sumOf(
  samples: readonly MetricSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | null {
  const found = samples.filter((sample) =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}

const SAMPLE = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

function parseSample(line: string): MetricSample {
  const [, name, labels = "", value = ""] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`Cannot parse metric "${line}": no sample of the text format`);
  const pairs = [...labels.matchAll(LABEL)].map(([, label = "", text = ""]) => [label, unescape(text)] as const);
  return { name, labels: Object.fromEntries(pairs), value: toNumber(value) };
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_, letter: string) => letter === "n" ? "\n" : letter);
}

function toNumber(text: string): number {
  return /^[+-]?Inf$/.test(text) ? Number(text.replace("Inf", "Infinity")) : Number(text);
}
