/** What a run of chaos says in tests/verify/results: which cluster there was, what limits podfit had, and what came of it. */
import { describeFailures, type Stage, summarize } from "./stage.ts";

/** The cluster that faults are done to. */
export type Backend = "embedded" | "real";

/** A run that is over. */
export interface ChaosRun {
  readonly backend: Backend;
  /** Such as `--short`; empty where there were none. */
  readonly options: string;
  /** When and of which commit. */
  readonly taken: string;
  readonly seed: string;
  readonly played: readonly Played[];
  /** Names of scenarios that were left out. */
  readonly leftOut: readonly string[];
  /** The most memory that this process had, MiB; `null` = not known. */
  readonly peakMiB: number | null;
}

/** A scenario that was played. */
export interface Played {
  readonly stage: Stage;
  readonly about: string;
  readonly seconds: number;
}

/** Faults of a scenario. Some have a thousand. */
const MAX_SHOWN = 20;

/** Returns the lines of a scenario: its name, and how soon podfit recovered from its first faults. */
export function describePlayed({ stage, about, seconds }: Played): readonly string[] {
  const { scenario, faults } = stage;
  return [
    `${scenario}: ${about} (${seconds.toFixed(1)} s)`,
    ...faults.slice(0, MAX_SHOWN).map(({ name, recoveredMs }) =>
      `  ${name}: ${recoveredMs === null ? "NOT recovered" : `recovered after ${(recoveredMs / 1000).toFixed(1)} s`}`
    ),
    ...(faults.length > MAX_SHOWN ? [`  and ${faults.length - MAX_SHOWN} more faults`] : []),
  ];
}

/** Returns the whole file in Markdown. */
export function formatReport(run: ChaosRun): string {
  const { backend, options, taken, seed, played, leftOut } = run;
  const stages = played.map(({ stage }) => stage);
  const command = ["deno task chaos", ...(backend === "real" ? ["--backend real"] : []), options].join(" ").trim();
  const seconds = played.reduce((sum, one) => sum + one.seconds, 0);
  const failures = describeFailures(stages);
  return `# \`${command}\`

${taken}, in ${Math.ceil(seconds / 60)} minutes, on a machine that others may use too. What the scenarios do:
[docs/evidence/chaos.md](../../../docs/evidence/chaos.md).

${[...describeBackend(run), ...describeLeftOut(leftOut)].map((one) => `- ${one}`).join("\n")}

\`\`\`
chaos: seed ${seed}
${[...played.flatMap(describePlayed), ...failures, summarize(stages)].join("\n")}
\`\`\`
`;
}

function describeBackend({ backend, played, peakMiB }: ChaosRun): readonly string[] {
  if (backend === "real") {
    const own = played.find(({ stage }) => stage.limits !== null);
    return [
      "The cluster is real: the API server, etcd, kubelets and containerd of `tests/cluster`.",
      ...(own === undefined ? [] : [`podfit's own process has the limits of the chart: ${own.stage.limits}.`]),
      ...(played.some(({ stage }) => stage.scenario === "leader")
        ? ["The two podfits of `leader` are pods that the chart has installed, with its limits."]
        : []),
    ];
  }
  const name = ({ stage }: Played) => `\`${stage.scenario}\``;
  const limited = played.filter(({ stage }) => stage.limits !== null);
  const others = played.filter(({ stage }) => stage.limits === null);
  const [first] = limited;
  const peak = peakMiB === null ? "" : ` The whole process had at most ${Math.round(peakMiB)} MiB.`;
  return [
    "The cluster is embedded: an API server and kubelets that the project wrote for its tests. No real cluster was used. " +
    "What a real one does is in [chaos-real.md](chaos-real.md).",
    ...(first === undefined ? [] : [
      `podfit's own process, under the limits of the chart, ${first.stage.limits}: ${limited.map(name).join(", ")}.`,
    ]),
    ...(others.length === 0 ? [] : [
      `podfit's daemon in the process of the suite, on a virtual clock, next to the embedded cluster. The limits of the ` +
      `chart do not bound it here: ${others.map(name).join(", ")}.${peak}`,
    ]),
  ];
}

function describeLeftOut(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`Not run: ${names.map((name) => `\`${name}\``).join(", ")}.`];
}
