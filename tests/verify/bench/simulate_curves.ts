// deno-lint-ignore-file no-console
/**
 * `deno task bench:simulate`: what `podfit simulate`, the command itself, prints for each real curve under the document's
 * example, and with noise beside the profile `balanced`; a minute on two cores. Exit code 1 where a run fails.
 *
 *   --curves DIR    other curves than tests/verify/quality/traces: CSV as `podfit simulate --load` reads it
 *   --out FILE      where the tables go; default: tests/verify/results/simulate.md
 */
import { parseArgs } from "node:util";
import { EXAMPLE_SPEC } from "../../../lib/cli/suggest/judge.ts";
import { describeTaking, listCurves, mapAtOnce } from "../../support/results.ts";

/** What 100 % of the project's own curves are, as in tests/verify/quality. */
const CORES = "1.3";
const AT_ONCE = 2;
const TIMEOUT_MS = 10 * 60_000;
const ROOT = `${import.meta.dirname}/../../..`;
/** The usual round numbers, limits twice the requests. */
const SIZE = { requests: { cpu: "500m", memory: "256Mi" }, limits: { cpu: "1", memory: "512Mi" } };
const LABELS = { app: "web" };
const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: LABELS },
    template: {
      metadata: { labels: LABELS },
      spec: { containers: [{ name: "app", image: "example.com/web:1", resources: SIZE }] },
    },
  },
};
const COMPARED = ["--noise", "--policy", "balanced.yaml"];

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ args: Deno.args, options: { curves: text, out: text } });
  const curves = await Deno.realPath(values.curves ?? `${ROOT}/tests/verify/quality/traces`);
  const taken = await describeTaking();
  const folder = await Deno.makeTempDir();
  try {
    await writeManifests(folder);
    const names = listCurves(curves);
    for (const name of names) await Deno.copyFile(`${curves}/${name}`, `${folder}/${name}`);
    const percent = values.curves === undefined ? ["--percent-of", CORES] : [];
    const plain = await runAll(folder, names, percent);
    const compared = await runAll(folder, names, [...percent, ...COMPARED]);
    await Deno.writeTextFile(values.out ?? `${ROOT}/tests/verify/results/simulate.md`, format(taken, plain, compared));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** JSON is YAML. */
async function writeManifests(folder: string): Promise<void> {
  const toAutoscaler = (spec: Readonly<Record<string, unknown>>) => ({
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name: "web" },
    spec: { target: { kind: "deployment", name: "web" }, ...spec },
  });
  const example = [DEPLOYMENT, toAutoscaler({ containerName: "app", ...EXAMPLE_SPEC })].map((one) =>
    JSON.stringify(one)
  )
    .join("\n---\n");
  await Deno.writeTextFile(`${folder}/manifests.yaml`, example);
  await Deno.writeTextFile(`${folder}/balanced.yaml`, JSON.stringify(toAutoscaler({ profile: "balanced" })));
}

/** What the command printed for each curve, in their order. */
async function runAll(folder: string, names: readonly string[], more: readonly string[]): Promise<readonly string[]> {
  return await mapAtOnce(names, AT_ONCE, async (name) => {
    const printed = await run(folder, ["-f", "manifests.yaml", "--load", name, ...more]);
    console.log(printed);
    return printed;
  });
}

/** The command line that people type for it, and what it prints. */
async function run(folder: string, args: readonly string[]): Promise<string> {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--config",
      `${ROOT}/deno.json`,
      "-P=lint",
      `${ROOT}/main.ts`,
      "simulate",
      ...args,
    ],
    cwd: folder,
    stderr: "inherit",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).output();
  if (!success) throw new Error(`Cannot simulate ${args.join(" ")}: see above`);
  return `$ podfit simulate ${args.join(" ")}\n${new TextDecoder().decode(stdout).trimEnd()}`;
}

function format(taken: string, plain: readonly string[], compared: readonly string[]): string {
  const toBlock = (text: string) => `\`\`\`\n${text}\n\`\`\``;
  return [
    "# `deno task bench:simulate`",
    `${taken}: the tables of \`podfit simulate\` as printed, a container that begins with ` +
    "500m of 1 CPU and 256Mi of 512Mi. Read *slack* as what was requested and not used, *under* as what was wanted " +
    "beyond the request, *throttled* as the seconds in which a limit held CPU back, and cost = slack + 3 x under + " +
    "20 x throttled, in millicores, as what ranks them; the less, the better.",
    "## The document's example",
    ...plain.map(toBlock),
    "## With noise, beside the profile balanced",
    ...compared.map(toBlock),
  ].join("\n\n") + "\n";
}

await main();
