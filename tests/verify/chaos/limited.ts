/**
 * podfit as its image starts it, under the limits that the chart gives its container: a bundle, the image's environment
 * and V8 flags, and a cgroup below that of this process. A suite that has podfit in its own process can run the same way.
 *
 * Where no cgroup can be made (version 2, or no root), a watcher kills it above the limit of memory, and it runs on one CPU.
 * https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
 */
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import { ENVIRONMENT } from "../../../tools/image/facts.ts";
import { readDenoDir } from "../../support/podfit_process.ts";
import { bundleDaemon } from "../bench/daemon.ts";
import { parseUsage, type ProcessUsage } from "../bench/scale_usage.ts";

const ROOT = new URL("../../../", import.meta.url);
const CHART = new URL("../../../deploy/helm/values.yaml", import.meta.url);
const MANIFEST = new URL("../../../deploy/install.yaml", import.meta.url);
const CPUS = 1;

/** What the chart's values allow podfit's container, bytes. Throws where they name no limit. */
export async function readMemoryLimit(): Promise<number> {
  const [values] = parseAll(await Deno.readTextFile(CHART)) as { resources: { limits: { memory: string } } }[];
  const parsed = parseAmount(values?.resources.limits.memory, "memory");
  if (!parsed.ok) throw new Error(`Cannot read the chart's limit of memory: ${parsed.message}`);
  return parsed.amount;
}

/** The V8 flags that the chart gives podfit's container. Throws where it gives none. */
async function readV8Flags(): Promise<string> {
  const text = await Deno.readTextFile(MANIFEST);
  const flags = /name: DENO_V8_FLAGS\n\s+value: "(\S+)"/.exec(text)?.[1];
  if (flags === undefined) throw new Error(`Cannot find DENO_V8_FLAGS in ${MANIFEST.pathname}: is it still there?`);
  return flags;
}

/** What is started. */
export interface LimitedOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Bytes; the chart's by default. */
  readonly memoryBytes?: number;
}

/**
 * What it has used since its start. In a cgroup its peak of memory is what the kernel counts against the limit, which is
 * less than what is resident: pages of Deno's own file belong to whoever read them first.
 */
export interface LimitedUsage extends ProcessUsage {
  /** For how long its main thread could have run, and had no CPU: others had it, or its own limit was used up. */
  readonly waitedSeconds: number;
}

/** A running podfit. Disposal kills it, and removes its cgroups. */
export interface Limited extends AsyncDisposable {
  readonly child: Deno.ChildProcess;
  /** How its memory and CPU are bounded, in words. */
  readonly bound: string;
  /** `null` once it has ended. */
  readonly readUsage: () => Promise<LimitedUsage | null>;
}

/** Starts podfit; its outputs are piped. Rejects when it cannot be bundled. */
export async function startLimited({ args, env, memoryBytes }: LimitedOptions): Promise<Limited> {
  const bytes = memoryBytes ?? await readMemoryLimit();
  const bundle = await getBundle();
  const group = await Group.open(bytes);
  const run = [
    Deno.execPath(),
    "run",
    "--quiet",
    "-P=start",
    "--config",
    `${ROOT.pathname}deno.json`,
    bundle,
    "run",
    ...args,
  ];
  const child = new Deno.Command("sh", {
    args: ["-c", group.prelude, "sh", ...run],
    cwd: ROOT.pathname,
    clearEnv: true,
    env: {
      ...ENVIRONMENT,
      PATH: Deno.env.get("PATH") ?? "",
      HOME: "/nonexistent",
      DENO_DIR: await readDenoDir(),
      PRA_ENABLED: "true",
      DENO_V8_FLAGS: await readV8Flags(),
      ...env,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let isOver = false;
  const over = child.status.then(() => isOver = true);
  // It does not outlive this process, which may be ended in the middle.
  const onUnload = () => void (isOver || child.kill("SIGKILL"));
  globalThis.addEventListener("unload", onUnload);
  const watcher = group.watch(child.pid);
  return {
    child,
    bound: group.bound,
    readUsage: () => isOver ? Promise.resolve(null) : readUsage(child.pid, group.memoryFolder),
    async [Symbol.asyncDispose]() {
      globalThis.removeEventListener("unload", onUnload);
      if (!isOver) child.kill("SIGKILL");
      await over;
      await watcher;
      await group.remove();
    },
  };
}

/** A module of the project that runs in a process of its own. */
export interface ModuleOptions {
  readonly url: string;
  readonly args: readonly string[];
  /** V8 flags, next to those of the image. */
  readonly flags: readonly string[];
}

/**
 * Runs a module under the limits of the chart and with the image's V8 flags, and resolves to its exit code. Its output is
 * that of this process, and PODFIT_BOUND tells it how it is bounded.
 */
export async function runModuleLimited({ url, args, flags }: ModuleOptions): Promise<number> {
  const group = await Group.open(await readMemoryLimit());
  const config = `${ROOT.pathname}deno.json`;
  const { DENO_USE_CGROUPS, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_ } = ENVIRONMENT;
  const run = [Deno.execPath(), "run", "--quiet", "-P=dev", "--config", config, url, ...args];
  const child = new Deno.Command("sh", {
    args: ["-c", group.prelude, "sh", ...run],
    env: {
      DENO_USE_CGROUPS,
      MALLOC_MMAP_THRESHOLD_,
      MALLOC_TRIM_THRESHOLD_,
      DENO_V8_FLAGS: [await readV8Flags(), ...flags].join(","),
      PODFIT_BOUND: group.bound,
    },
    stdin: "null",
  }).spawn();
  const [{ code }] = await Promise.all([child.status, group.watch(child.pid)]);
  await group.remove();
  return code;
}

let bundled: Promise<string> | null = null;

/** One for all that this process starts. */
function getBundle(): Promise<string> {
  return bundled ??= (async () => {
    const directory = await Deno.makeTempDir({ prefix: "podfit-limited-" });
    globalThis.addEventListener("unload", () => Deno.removeSync(directory, { recursive: true }));
    return await bundleDaemon(directory);
  })();
}

/** The cgroups of one process, or what replaces them. */
class Group {
  readonly #folders: readonly string[];
  readonly #bytes: number;

  private constructor(folders: readonly string[], bytes: number) {
    this.#folders = folders;
    this.#bytes = bytes;
  }

  static async open(bytes: number): Promise<Group> {
    const name = `podfit-limited-${Deno.pid}-${serial++}`;
    const text = await runShell(CREATE, [name, String(bytes), String(100_000 * CPUS)]);
    return new Group(text?.trim().split("\n") ?? [], bytes);
  }

  get bound(): string {
    const mib = `${Math.round(this.#bytes / 2 ** 20)} MiB`;
    return this.#folders.length > 0
      ? `${mib} and ${CPUS} CPU by cgroups`
      : `${mib} by a look at its memory each 100 ms, and one CPU of the machine by taskset`;
  }

  /** `null` without a cgroup. */
  get memoryFolder(): string | null {
    return this.#folders[0] ?? null;
  }

  /** What a shell does before it becomes the process whose command line it was given. */
  get prelude(): string {
    const enter = this.#folders.map((folder) => `echo $$ > '${folder}/cgroup.procs' && `).join("");
    return `${enter}exec ${this.#folders.length > 0 ? "" : "taskset -c 0 "}"$@"`;
  }

  async watch(pid: number): Promise<void> {
    if (this.#folders.length === 0) await runShell(WATCH, [String(pid), String(this.#bytes / 1024)]);
  }

  async remove(): Promise<void> {
    if (this.#folders.length > 0) await runShell('rmdir "$@"', this.#folders);
  }
}

let serial = 0;

/** Prints the folders that it has made, and fails where it can make none. By a shell: Deno opens /sys to --allow-all only. */
const CREATE = `set -e
trap 'test $? = 0 || rmdir $made' EXIT
make() {
  path=$(awk -F: -v name="$1" '$2 == name {print $3}' /proc/self/cgroup)
  test -n "$path"
  folder=/sys/fs/cgroup/$1$path/$2
  mkdir "$folder"
  made="$made $folder"
  echo "$3" > "$folder/$4"
  echo "$folder"
}
make memory "$1" "$2" memory.limit_in_bytes
make cpu "$1" "$3" cpu.cfs_quota_us`;

const WATCH = `while test -d /proc/$1; do
  used=$(awk '/^VmRSS/ {print $2}' /proc/$1/status 2> /dev/null)
  if test "\${used:-0}" -gt "$2"; then kill -9 "$1"; fi
  sleep 0.1
done`;

/** What it printed; `null` where it failed. */
async function runShell(script: string, args: readonly string[]): Promise<string | null> {
  const command = new Deno.Command("sh", { args: ["-c", script, "sh", ...args], stderr: "null" });
  const { code, stdout } = await command.output();
  return code === 0 ? new TextDecoder().decode(stdout) : null;
}

/** Returns what a process has used since its start; `null` once it has ended. `memoryFolder`: its cgroup's. */
export async function readUsage(pid: number, memoryFolder: string | null = null): Promise<LimitedUsage | null> {
  const charged = memoryFolder === null ? [] : [`${memoryFolder}/memory.max_usage_in_bytes`];
  const paths = [`/proc/${pid}/stat`, `/proc/${pid}/status`, ...charged, `/proc/${pid}/schedstat`];
  const text = await runShell('cat "$@"', paths);
  // A process that has ended, and is not yet waited for, has no memory.
  if (text === null || !text.includes("VmHWM")) return null;
  const [bytes, times] = text.trimEnd().split("\n").slice(-2);
  const usage = { ...parseUsage(text), waitedSeconds: Number(times?.split(" ")[1]) / 1e9 };
  return memoryFolder === null ? usage : { ...usage, peakMiB: Number(bytes) / 2 ** 20 };
}
