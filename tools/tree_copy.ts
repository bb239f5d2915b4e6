/**
 * A copy of the project in which a file may be broken for a while, and tests be run. Nothing outside of it is written;
 * disposal removes it.
 */
import type { PlacedMutation, TestRun } from "./mutation.ts";
import type { CoverJob, MutantJob, Result } from "./mutants/runner.ts";
import { parseJunit, toFilter } from "./test_results.ts";

/** A job that gives nothing for so long is stuck. */
const STUCK_SECONDS = 90;

export interface RunTests {
  readonly testFile: string;
  readonly tests: readonly string[];
  readonly timeoutSeconds: number;
  /** A variable that is not given is not there. */
  readonly kubeconfig: string | null;
  readonly signal: AbortSignal;
}

export class TreeCopy implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async create(source: URL): Promise<TreeCopy> {
    const root = await Deno.makeTempDir({ prefix: "podfit-clauses-" });
    await copyTree(source.pathname, `${root}/`);
    return new TreeCopy(root);
  }

  /** Does something while a file of the copy has another text. */
  async whileChanged<T>({ file, text }: Pick<PlacedMutation, "file" | "text">, act: () => Promise<T>): Promise<T> {
    const path = `${this.root}/${file}`;
    const before = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text);
    try {
      return await act();
    } finally {
      await Deno.writeTextFile(path, before);
    }
  }

  /** `timeout` ends the whole process group: a test's own children too. */
  async runTests({ testFile, tests, timeoutSeconds, kubeconfig, signal }: RunTests): Promise<TestRun> {
    const junit = `${this.root}/.junit.xml`;
    await Deno.writeTextFile(junit, "");
    const isCluster = kubeconfig !== null;
    const { KUBECONFIG: _, ...env } = Deno.env.toObject();
    const { code, stdout, stderr } = await new Deno.Command("timeout", {
      args: [
        "--kill-after=10",
        `${timeoutSeconds}`,
        Deno.execPath(),
        "test",
        "--preload",
        "tests/support/setup.ts",
        isCluster ? "-P=dev" : "-P=test",
        "--no-check",
        "--reporter=dot",
        `--junit-path=${junit}`,
        "--filter",
        toFilter(tests),
        `tests/${testFile}`,
      ],
      cwd: this.root,
      clearEnv: true,
      env: { ...env, NO_COLOR: "1", ...(isCluster ? { KUBECONFIG: kubeconfig } : {}) },
      stdin: "null",
      signal,
    }).output();
    signal.throwIfAborted();
    if (code === 124 || code === 137) return { fault: `tests/${testFile} was not done in ${timeoutSeconds} seconds` };
    const outcomes = parseJunit(await Deno.readTextFile(junit));
    if (outcomes.size > 0) return { outcomes };
    const decoder = new TextDecoder();
    const [words = ""] = /^.*\berror: .*$/m.exec(decoder.decode(stderr) + decoder.decode(stdout)) ?? [];
    return { fault: `tests/${testFile} gave no result, exit code ${code}: ${words.trim() || "no error is told"}` };
  }

  /** Of texts by path. They stay. */
  async write(texts: ReadonlyMap<string, string>): Promise<void> {
    for (const [file, text] of texts) await Deno.writeTextFile(`${this.root}/${file}`, text);
  }

  /** What the job gave until it ended, or was ended as it was stuck. */
  async runJob(job: CoverJob | MutantJob, signal: AbortSignal): Promise<readonly Result[]> {
    const [jobFile, resultFile] = [`${this.root}/.job.json`, `${this.root}/.results.jsonl`];
    await Deno.writeTextFile(jobFile, JSON.stringify(job));
    await Deno.writeTextFile(resultFile, "");
    const { KUBECONFIG: _, ...env } = Deno.env.toObject();
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--preload",
        "tests/support/setup.ts",
        "--quiet",
        "--no-check",
        "-P=test",
        "tools/mutants/runner.ts",
        jobFile,
        resultFile,
      ],
      cwd: this.root,
      clearEnv: true,
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "null",
      signal,
    }).spawn();
    let size = 0;
    const guard = setInterval(() => {
      const now = Deno.statSync(resultFile).size;
      if (now === size) process.kill("SIGKILL");
      size = now;
    }, STUCK_SECONDS * 1000);
    await process.status;
    clearInterval(guard);
    signal.throwIfAborted();
    const lines = (await Deno.readTextFile(resultFile)).split("\n").filter((line) => line !== "");
    return lines.map((line): Result => JSON.parse(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** What is made, and what is no part of the project. */
const LEFT_OUT = new Set([".git", "node_modules", "dist"]);

/** Both with the slash at the end. */
async function copyTree(from: string, to: string): Promise<void> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (LEFT_OUT.has(name)) continue;
    if (isFile) await Deno.copyFile(from + name, to + name);
    if (!isDirectory) continue;
    await Deno.mkdir(to + name);
    await copyTree(`${from}${name}/`, `${to}${name}/`);
  }
}
