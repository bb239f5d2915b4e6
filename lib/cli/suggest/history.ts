/** What was seen of a workload earlier: out of files, or of Prometheus. */
import { readPod } from "../../daemon/inventory/read_pod.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Pod } from "../../api/kubernetes.ts";
import type { NamedLoad } from "../../simulate/load/load.ts";
import { formatDuration } from "../../units/duration.ts";
import { readManifests } from "../lint/files.ts";
import { StartError } from "../run/start_error.ts";
import { type LoadSources, readLoads } from "../simulate/loads.ts";
import { readObjects } from "../simulate/objects.ts";
import type { Target } from "./manifest.ts";
import type { Watched } from "./watched.ts";

export interface HistoryOptions {
  readonly target: Target;
  /** Manifests that may hold the workload. */
  readonly filenames: readonly string[];
  /** What its container is called where no manifest says it. */
  readonly container: string | null;
  readonly files: LoadSources;
}

/** Rejects with a StartError for what cannot be read. */
export async function readHistory(options: HistoryOptions): Promise<Watched> {
  const { target, files } = options;
  const { prometheus } = files;
  const loads = ofTarget(await readLoads(files), target);
  const manifest = await readTemplate(options);
  const source = [
    ...files.csv.length + files.records.length > 0 ? [[...files.csv, ...files.records].join(", ")] : [],
    ...prometheus === null ? [] : [`Prometheus, ${formatDuration(prometheus.range.to - prometheus.range.from)}`],
    ...files.noise === null ? [] : ["with seeded noise of 10 % upon CPU"],
    ...manifest === null ? ["a pod that begins with 500m of 1 CPU and 256Mi of 512Mi"] : [],
  ];
  return { target, pod: manifest ?? toUsualPod(options, loads), loads, source: source.join("; ") };
}

/** Records may be of many workloads: pods are named after theirs. */
function ofTarget(loads: readonly NamedLoad[], { namespace, name }: Target): readonly NamedLoad[] {
  if (loads.every(({ pod }) => pod === null)) return loads;
  const own = loads.filter(({ pod }) =>
    pod === null || pod === `${namespace}/${name}` || pod.startsWith(`${namespace}/${name}-`)
  );
  if (own.length > 0) return own;
  const pods = [...new Set(loads.map(({ pod }) => pod))].slice(0, 5).join(", ");
  throw new StartError(`Cannot find pods of "${namespace}/${name}" in the records: they are of ${pods}`);
}

async function readTemplate({ filenames, target }: HistoryOptions): Promise<PodFacts | null> {
  if (filenames.length === 0) return null;
  const { sources, failures } = await readManifests(filenames);
  if (failures.length > 0) throw new StartError(failures.join("; "));
  const { workloads, complaints } = readObjects(sources);
  if (complaints.length > 0) throw new StartError(complaints.join("; "));
  const found = workloads.find(({ kind, namespace, name }) =>
    kind.toLowerCase() === target.kind && name === target.name && namespace === target.namespace
  );
  if (found !== undefined) return readPod(found.pod);
  const titles = workloads.map(({ kind, namespace, name }) => `${kind.toLowerCase()}/${name} of ${namespace}`);
  const has = titles.length === 0 ? "no workload" : titles.join(", ");
  throw new StartError(
    `Cannot find ${target.kind}/${target.name} of "${target.namespace}" in the files: they have ${has}`,
  );
}

/** The usual round numbers, limits twice the requests, as in docs/quality.md. */
function toUsualPod({ target: { namespace, name }, container }: HistoryOptions, loads: readonly NamedLoad[]): PodFacts {
  const named = [...new Set(loads.flatMap((one) => one.container ?? []))];
  const names = container !== null ? [container] : named.length > 0 ? named : [name];
  const resources = { requests: { cpu: "500m", memory: "256Mi" }, limits: { cpu: "1", memory: "512Mi" } };
  const pod: Pod = {
    metadata: { namespace, name, labels: {} },
    spec: { containers: names.map((one) => ({ name: one, image: "example.com/app:1", resources })) },
  };
  return readPod(pod);
}
