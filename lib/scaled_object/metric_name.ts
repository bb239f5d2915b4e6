/** What the metrics of triggers are called, as in KEDA (R18): pkg/scalers/scaler.go, pkg/util/normalize_string.go. */

/** Gives the name of an external metric, such as `s0-prometheus`. */
export function toMetricName(index: number, metric: string): string {
  return `s${index}-${metric.replace(/[/.:%()]/g, "-")}`;
}

/** Writes a cron expression as a part of a name: s/cron:parseCronTimeFormat. */
export function toCronName(text: string): string {
  return text.replaceAll(" ", "").replaceAll("*", "x").replaceAll("/", "Sl").replaceAll("?", "Qm").replaceAll(
    ",",
    "Cm",
  );
}
