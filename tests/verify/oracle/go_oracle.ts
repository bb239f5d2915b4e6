/** The real controller as a program: built once from tests/cluster/replicas, fed with courses, asked for results. */
import type { Course, CourseResult } from "./course.ts";
import { readLines } from "./lines.ts";

const MODULE = new URL("../../cluster/replicas/", import.meta.url);

/** The version whose controller is asked: 1.36, or the one of KUBERNETES. */
const VERSION = Deno.env.get("KUBERNETES") ?? "1.36";
const MODULE_FILE = VERSION === "1.36" ? "go" : `kubernetes-${VERSION}`;

/**
 * The path of the program, beside the cluster's own. Builds it where it is not there or was built of other sources: 2 minutes without Go's build
 * cache, seconds with it. Rejects with what go said.
 */
export async function buildOracle(): Promise<string> {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  const folder = `${Deno.env.get("CLUSTER_HOME") ?? `${cache}/podfit-cluster`}/bin`;
  const name = VERSION === "1.36" ? "replicas-oracle" : `replicas-oracle-${VERSION}`;
  const [program, made] = [`${folder}/${name}`, `${folder}/.${name}.made`];
  const digest = await digestSources();
  if (await readText(made) === digest && await readText(program, "exists") !== null) return program;
  await Deno.mkdir(folder, { recursive: true });
  const args = ["test", "-p", "1", "-trimpath", `-modfile=${MODULE_FILE}.mod`, "-c", "-o", program, "."];
  const { success, stderr } = await new Deno.Command("go", { args, cwd: MODULE, stdout: "null" }).output();
  if (!success) {
    throw new Error(
      `Cannot build tests/cluster/replicas: go needs to be 1.26 or newer: ${new TextDecoder().decode(stderr)}`,
    );
  }
  await Deno.writeTextFile(made, digest);
  return program;
}

/** In the order of the courses. Rejects when the program ends early. */
export async function* askOracle(program: string, courses: Iterable<Course>): AsyncGenerator<CourseResult> {
  const child = new Deno.Command(program, {
    args: ["-test.run=TestOracle", "-test.timeout=0"],
    env: { ORACLE: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const sent = send(child.stdin, courses);
  for await (const line of readLines(child.stdout)) if (line.startsWith("{")) yield JSON.parse(line);
  const { code } = await child.status;
  if (code !== 0) throw new Error(`Cannot run the oracle: it ended with ${code}`);
  await sent;
}

async function send(stdin: WritableStream<Uint8Array>, courses: Iterable<Course>): Promise<void> {
  const [writer, encoder] = [stdin.getWriter(), new TextEncoder()];
  for (const course of courses) await writer.write(encoder.encode(`${JSON.stringify(course)}\n`));
  await writer.close();
}

async function digestSources(): Promise<string> {
  const files = ["doc.go", `${MODULE_FILE}.mod`, `${MODULE_FILE}.sum`, "oracle_test.go"];
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(new URL(file, MODULE))));
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(texts.join("\0")));
  return new Uint8Array(hash).toHex();
}

/** `null` where there is no such file. */
async function readText(path: string, how: "text" | "exists" = "text"): Promise<string | null> {
  try {
    return how === "exists" ? `${(await Deno.stat(path)).size}` : await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
