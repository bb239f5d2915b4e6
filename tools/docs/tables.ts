/** Tables of measurements in pages, made from the results of the programs that measured. */

/** A page with a part that comes from a file of results. */
interface Table {
  readonly page: string;
  readonly source: string;
  /** Returns the page with the part. Throws where page or source lack it. */
  readonly fill: (page: string, source: string) => string;
}

export const TABLES: readonly Table[] = [
  { page: "docs/operate/sizing.md", source: "tests/verify/results/scale.md", fill: fillSizing },
  { page: "docs/reference/versions.md", source: "tests/verify/results/versions.md", fill: fillVersions },
];

/** The table of versions, as it is. */
function fillVersions(page: string, source: string): string {
  const lines = source.split("\n");
  const first = lines.findIndex((line) => line.startsWith("| Kubernetes | passed |"));
  if (first < 0) throw new Error("Cannot find the table of versions");
  const table = lines.slice(first, lines.findIndex((line, at) => at > first && !line.startsWith("|")));
  const start = "<!-- from tests/verify/results/versions.md -->\n";
  return replaceBetween(page, start, "<!-- end -->", [...table, ""].join("\n"));
}

/** Records of a busy pod take 16 KiB. */
const RECORDS_MIB_PER_POD = 16 / 1024;

function fillSizing(page: string, source: string): string {
  const rows = listScaleRows(source);
  const pods = new Map(rows.filter(({ process }) => process === "podfit").map((row) => [row.pods, row]));
  const rivals = new Map(rows.filter(({ process }) => process === "metrics-server").map((row) => [row.pods, row]));
  const lines = [...pods.values()].map((row) => {
    const rival = rivals.get(row.pods);
    const withRecords = Math.ceil(row.memoryMib + row.pods * RECORDS_MIB_PER_POD);
    return `| ${row.nodes} | ${row.pods} | ${toMillicores(row)} | ${Math.ceil(row.memoryMib)}Mi | ${withRecords}Mi | ${
      rival === undefined ? "" : `${toMillicores(rival)}, ${Math.ceil(rival.memoryMib)}Mi`
    } |`;
  });
  return replaceBetween(
    page,
    "<!-- from tests/verify/results/scale.md -->\n",
    "<!-- end -->",
    [
      "| nodes | tracked pods | CPU | memory | memory with records | metrics-server |",
      "|---|---|---|---|---|---|",
      ...lines,
      "",
    ].join("\n"),
  );
}

interface ScaleRow {
  readonly nodes: number;
  readonly pods: number;
  readonly process: string;
  readonly cpuSecondsPerMinute: number;
  readonly memoryMib: number;
}

/** The first table of the file: the embedded API server. */
function listScaleRows(source: string): readonly ScaleRow[] {
  const lines = source.split("\n");
  const first = lines.findIndex((line) => line.startsWith("| nodes | pods | process | CPU s/min |"));
  if (first < 0) throw new Error("Cannot find the table of nodes and pods");
  const rest = lines.slice(first + 2);
  return rest.slice(0, rest.findIndex((line) => !line.startsWith("|"))).map((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const [, nodes, pods, process = "", cpu, , , memory] = cells;
    return {
      nodes: Number(nodes),
      pods: Number(pods),
      process,
      cpuSecondsPerMinute: Number(cpu),
      memoryMib: Number(memory),
    };
  });
}

function toMillicores({ cpuSecondsPerMinute }: ScaleRow): string {
  return `${Math.ceil((cpuSecondsPerMinute / 60) * 1000)}m`;
}

function replaceBetween(text: string, start: string, end: string, content: string): string {
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`Cannot find ${start.trim()} and ${end} in the page`);
  return text.slice(0, from + start.length) + content + text.slice(to);
}
