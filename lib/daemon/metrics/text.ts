/**
 * How is a family of metrics written? In the Prometheus text format 0.0.4, and in no other: OpenMetrics wants `_total`
 * at the end of each counter's name, which some inherited names lack.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
import type { FamilyRow } from "./families.ts";

/** The media type of a page of metrics, as Prometheus asks for it. */
export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The HELP and TYPE lines of a family, each with its newline. */
export function formatHeader({ name, help, kind }: FamilyRow): string {
  return `# HELP ${name} ${help.replace(/[\\\n]/g, escape)}\n# TYPE ${name} ${kind}\n`;
}

/** `resource="cpu",side="requests"`: of the labels named, in their order. */
export function formatLabels(names: readonly string[], labels: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name of names) {
    const value = labels[name] ?? "";
    text += `${text === "" ? "" : ","}${name}="${MUST_ESCAPE.test(value) ? value.replace(/[\\\n"]/g, escape) : value}"`;
  }
  return text;
}

/** Texts of `formatLabels` as one; empty ones are left out. */
export function joinLabels(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(",");
}

/** One line with its newline; `labels` is a text of `formatLabels`. */
export function formatSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${formatNumber(value)}\n`;
}

/** `counts` are those of each bucket by itself, the last one's without an upper bound. */
export function formatHistogram(
  { name, buckets = [] }: FamilyRow,
  labels: string,
  { counts, sum }: { readonly counts: readonly number[]; readonly sum: number },
): string {
  const start = `${name}_bucket{${labels}${labels === "" ? "" : ","}le="`;
  let [text, count] = ["", 0];
  for (const [index, ofBucket] of counts.entries()) {
    count += ofBucket;
    text += `${start}${formatNumber(buckets[index] ?? Infinity)}"} ${count}\n`;
  }
  return text + formatSample(`${name}_sum`, labels, sum) + formatSample(`${name}_count`, labels, count);
}

/** A value as the text format writes it, infinities included. */
export function formatNumber(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

const MUST_ESCAPE = /[\\\n"]/;

function escape(character: string): string {
  return character === "\n" ? "\\n" : `\\${character}`;
}
