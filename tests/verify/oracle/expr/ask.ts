/** The real languages and numbers as a program: built once from tests/cluster/expr, asked in lines of JSON. */
import { readLines } from "../lines.ts";
import type { Answer, Question } from "./question.ts";

const MODULE = new URL("../../../cluster/expr/", import.meta.url);

/** The path of the program, beside the cluster's own. Go's build cache makes a second build short. Rejects with what go said. */
export async function buildProgram(): Promise<string> {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  const program = `${Deno.env.get("CLUSTER_HOME") ?? `${cache}/podfit-cluster`}/bin/expr-oracle`;
  const args = ["build", "-p", "1", "-trimpath", "-o", program, "."];
  const { success, stderr } = await new Deno.Command("go", { args, cwd: MODULE, stdout: "null" }).output();
  if (success) return program;
  throw new Error(`Cannot build tests/cluster/expr: go needs to be 1.26 or newer: ${new TextDecoder().decode(stderr)}`);
}

/** In the order of the questions. Rejects when the program ends early. */
export async function* askProgram(program: string, questions: readonly Question[]): AsyncGenerator<Answer> {
  const child = new Deno.Command(program, { stdin: "piped", stdout: "piped", stderr: "inherit" }).spawn();
  const lines = questions.map((question) => `${JSON.stringify(question)}\n`).join("");
  const sent = new Blob([lines]).stream().pipeTo(child.stdin);
  for await (const line of readLines(child.stdout)) if (line !== "") yield JSON.parse(line);
  const { code } = await child.status;
  if (code !== 0) throw new Error(`Cannot ask tests/cluster/expr: it ended with ${code}`);
  await sent;
}
