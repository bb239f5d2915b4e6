// deno-lint-ignore-file no-console
/**
 * `deno task bench:image`: what the image weighs, and how soon and with how much memory it starts, beside an empty Deno
 * program that serves one page from the same file system in the same run. As root: it starts both with the image as their
 * root, as user 65532. Exit code 1 when a goal is missed.
 */
import { writeArchive } from "../../../tools/image/archive.ts";
import { ENTRY_POINT, ENVIRONMENT, RUNTIME } from "../../../tools/image/facts.ts";
import { writeFiles } from "../../../tools/image/files.ts";
import { readLayers, toImage } from "../../../tools/image/image.ts";
import { startBenchCluster } from "./cluster.ts";
import { readRssMiB, writeBenchKubeconfig } from "./memory.ts";

const SIZE_GOAL_MB = 44;
const START_GOAL = 3;
const ROUNDS = 15;
/** Of a start that answers, until its memory is read: what it needed to start has been given back or not. */
const SETTLE_MS = 3_000;
const ANSWER_MS = 20_000;
const PODS = 10;

const EMPTY =
  `Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen() {} }, () => new Response("ok"));`;

interface Start {
  readonly answerMs: number;
  readonly residentMiB: number;
}

interface Program {
  readonly root: string;
  readonly args: (port: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What answers 200 once the start is over. */
  readonly page: "healthz" | "readyz";
}

const layers = await readLayers();
const { compressedBytes } = await writeArchive(toImage(layers, { tag: "localhost/podfit:bench" }));
const sizeMb = compressedBytes / 1e6;
console.log(
  `compressed layers: ${sizeMb.toFixed(1)} MB (goal: at most ${SIZE_GOAL_MB}), ` +
    `unpacked ${
      (layers.flatMap(({ files }) => files).reduce((sum, { content }) => sum + (content?.length ?? 0), 0) / 1e6)
        .toFixed(1)
    } MB`,
);
const root = await Deno.makeTempDir();
try {
  await writeFiles(root, layers.flatMap(({ files }) => files));
  await writeFiles(root, [{ path: "bench/empty.js", mode: 0o644, content: new TextEncoder().encode(EMPTY) }]);
  for (const folder of ["proc", "etc/podfit"]) await Deno.mkdir(`${root}/${folder}`, { recursive: true });
  await Deno.chmod(root, 0o755);
  await using cluster = await startBenchCluster(PODS);
  await writeBenchKubeconfig(`${root}/etc/podfit`, cluster.origin);
  const ratio = await measureStarts();
  if (sizeMb > SIZE_GOAL_MB || ratio > START_GOAL) Deno.exitCode = 1;
} finally {
  await Deno.remove(root, { recursive: true });
}

/** The ratio of the medians. Each side in turn, so that whatever else the machine does meets both. */
async function measureStarts(): Promise<number> {
  const listen = (port: number) => ["--listen", `127.0.0.1:${port}`];
  const programs = {
    empty: {
      root,
      page: "healthz",
      args: (port) => [RUNTIME, "run", "-q", "--allow-net", "/bench/empty.js", `${port}`],
    },
    podfit: { root, page: "healthz", args: (port) => [ENTRY_POINT, "run", ...listen(port)] },
    "podfit, no cache": {
      root,
      page: "healthz",
      args: (port) => [ENTRY_POINT, "run", ...listen(port)],
      env: { DENO_DIR: "/none" },
    },
    [`podfit, in sync, ${PODS} pods`]: {
      root,
      page: "readyz",
      args: (
        port,
      ) => [ENTRY_POINT, "run", ...listen(port), "--kubeconfig", "/etc/podfit/kubeconfig", "--stats-source", "proxy"],
      env: { PRA_ENABLED: "true" },
    },
  } satisfies Readonly<Record<string, Program>>;
  const starts: Record<string, Start[]> = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, program] of Object.entries(programs)) (starts[name] ??= []).push(await startOnce(program));
  }
  const medians = Object.entries(starts).map(([name, all]) => ({ name, all, median: toMedian(all) }));
  const [empty] = medians;
  for (const { name, all, median } of medians) {
    const times = all.map(({ answerMs }) => answerMs);
    console.log(
      `${name}: answers after ${median.answerMs.toFixed(0)} ms (${Math.min(...times).toFixed(0)} to ` +
        `${Math.max(...times).toFixed(0)}), resident memory ${median.residentMiB.toFixed(1)} MiB; ` +
        `${(median.answerMs / (empty?.median.answerMs ?? NaN)).toFixed(2)} and ` +
        `${(median.residentMiB / (empty?.median.residentMiB ?? NaN)).toFixed(2)} times an empty program`,
    );
  }
  const ratio = (medians[1]?.median.answerMs ?? NaN) / (empty?.median.answerMs ?? NaN);
  console.log(`start: ratio ${ratio.toFixed(2)} (medians of ${ROUNDS}; goal: at most ${START_GOAL})`);
  return ratio;
}

async function startOnce({ root, args, env = {}, page }: Program): Promise<Start> {
  const port = findPort();
  const startedAt = performance.now();
  // The mounts are this process's own, and go with it.
  const script = 'mount -t proc proc "$0/proc" && exec chroot --userspec=65532:65532 "$0" "$@"';
  const child = new Deno.Command("unshare", {
    args: ["--mount", "sh", "-c", script, root, ...args(port)],
    clearEnv: true,
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...ENVIRONMENT, ...env },
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    const url = `http://127.0.0.1:${port}/${page}`;
    while (!await isAnswered(url)) {
      if (performance.now() - startedAt > ANSWER_MS) throw new Error(`${args(port).join(" ")} does not answer`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const answerMs = performance.now() - startedAt;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return { answerMs, residentMiB: await readRssMiB(child.pid) };
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
}

async function isAnswered(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { headers: { connection: "close" } });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

function findPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function toMedian(starts: readonly Start[]): Start {
  const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
  return {
    answerMs: middle(starts.map(({ answerMs }) => answerMs)),
    residentMiB: middle(starts.map(({ residentMiB }) => residentMiB)),
  };
}
