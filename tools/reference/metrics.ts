/** Which metrics does podfit have, and what are they for? Made from the table that its code uses. Pure. */
import { type DescribedFamily, FAMILIES, LABEL_MEANINGS, REPLICA_FAMILIES } from "../../lib/daemon/metrics/families.ts";
import { toCode, toLine, toPage, toTable, toText } from "./markdown.ts";

/** The page of all metric families and labels. */
export function toMetricsPage(): string {
  const labels = Object.entries(LABEL_MEANINGS).map(([name, text]) => [toCode(name), toLine(text)]);
  return toPage("Metrics", "`lib/daemon/metrics/families.ts`", [
    "Every podfit serves its own metrics on `/metrics`. A series appears when it is first used. The chart has " +
    "alert rules for the most important ones. Counters grow until podfit restarts.",
    "`kedify_` metrics have the names of Kedify's agent, and `keda_` metrics those of KEDA, so their dashboards work. " +
    "With the variable `KEDIFY_AGENT_ID`, each series has the label `kedify_agent_id` too.",
    "## Sizes and the process",
    toFamilyTable(Object.values(FAMILIES)),
    "## Replicas",
    "These are on the page when there is a ScaledObject.",
    toFamilyTable(Object.values(REPLICA_FAMILIES)),
    "## Labels",
    toTable(["label", "meaning"], labels),
    "## Buckets of histograms",
    toTable(
      ["name", "upper bounds"],
      [...Object.values<DescribedFamily>(FAMILIES), ...Object.values<DescribedFamily>(REPLICA_FAMILIES)]
        .flatMap(({ name, buckets }) => buckets === undefined ? [] : [[toCode(name), buckets.join(", ")]]),
    ),
  ]);
}

function toFamilyTable(families: readonly DescribedFamily[]): string {
  const rows = families.map((row) => [
    toCode(row.name),
    row.kind,
    findUnit(row),
    toLine(row.help),
    row.labels.map(toCode).join(", "),
    toText(row.use),
  ]);
  return toTable(["name", "type", "unit", "meaning", "labels", "what to do, and whether to alert"], rows);
}

/** Prometheus asks for the unit in the name. */
function findUnit({ name, unit }: DescribedFamily): string {
  return unit ?? /_(seconds|bytes)(_total)?$/.exec(name)?.[1] ?? "";
}
