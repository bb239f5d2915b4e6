/** Does --help show examples that work, exit codes that are true, and the name that podfit is called by? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { Command } from "commander";
import { wrapHelp } from "../../lib/cli/command/command.ts";
import { EXIT, getProgramName } from "../../lib/cli/command/process.ts";
import { readProgram } from "../support/completions.ts";
import { readDenoDir, runPodfit } from "../support/podfit_process.ts";

Deno.test("the help of every command has two examples or more, and the program takes each of them", async () => {
  const program = readProgram();
  for (const command of program.commands.filter((one) => !["help", "version"].includes(one.name()))) {
    const lines = listExamples(readHelp(command));
    assert(lines.length >= 2, `${command.name()}: ${lines.length} examples`);
    for (const line of lines) await accept(line);
  }
});

Deno.test("every help states the rule of exit codes, and 1 is an answer of checks alone", () => {
  const program = readProgram();
  for (const command of program.commands.filter((one) => !["help", "version"].includes(one.name()))) {
    const help = readHelp(command);
    const codes = Object.values(EXIT).filter((code) => new RegExp(`^  ${code} +\\w`, "m").test(help));
    const isCheck = ["lint", "replay"].includes(command.name());
    const expected = Object.values(EXIT).filter((code) => isCheck || code !== EXIT.found);
    assertEquals(codes, expected, command.name());
  }
  assertStringIncludes(readHelp(program), "Exit codes: 0 done, 1 a check found something, 2 not done");
});

Deno.test("no line of a help is longer than 80 columns where it is printed into a pipe, but for examples", () => {
  const program = readProgram();
  for (const command of [program, ...program.commands]) {
    const [text = ""] = readHelp(command).split("\nExamples:\n");
    assertEquals(text.split("\n").filter((line) => line.length > 80), [], command.name());
  }
});

Deno.test("a text of help fills the width that it is given, and keeps lines with an indent", () => {
  const text = "One two\nthree four.\n\nRows:\n  a   first\n  b   second";
  assertEquals(wrapHelp(text, 12), "One two\nthree four.\n\nRows:\n  a   first\n  b   second");
  assertEquals(wrapHelp(text, 80), "One two three four.\n\nRows:\n  a   first\n  b   second");
});

Deno.test("on a terminal, help reads no variable that podfit has no permission for: it has no colours", () => {
  const program = readProgram();
  for (const command of [program, ...program.commands]) {
    const { getOutHasColors, getErrHasColors } = command.configureOutput();
    assertEquals([getOutHasColors?.(), getErrHasColors?.()], [false, false], command.name());
    // commander's own would ask Node, and Deno the user.
    assert(getOutHasColors !== new Command().configureOutput().getOutHasColors, command.name());
  }
});

Deno.test("a program called kubectl-podfit is kubectl's plug-in, and calls itself so", () => {
  const cases: readonly (readonly [boolean, string, string])[] = [
    [true, "/usr/local/bin/kubectl-podfit", "kubectl podfit"],
    [true, "C:\\tools\\kubectl-podfit.exe", "kubectl podfit"],
    [true, "/usr/local/bin/podfit", "podfit"],
    [false, "file:///opt/kubectl-podfit.js", "kubectl podfit"],
    [false, "file:///podfit/main.ts", "podfit"],
    [false, "file:///my-kubectl-podfit/main.ts", "podfit"],
  ];
  for (const [isStandalone, file, name] of cases) {
    const invocation = { isStandalone, getExecPath: () => file, mainModule: isStandalone ? "file:///main.js" : file };
    assertEquals(getProgramName(invocation), name, file);
  }
});

Deno.test("kubectl podfit says so in its usage, its examples and its complaints", async () => {
  const program = readProgram("kubectl podfit");
  const lint = program.commands.find((command) => command.name() === "lint");
  assert(lint !== undefined);
  const help = readHelp(lint);
  assertStringIncludes(help, "Usage: kubectl podfit lint [options]");
  assertStringIncludes(help, "\n  kubectl podfit lint manifests/\n");
  const folder = await Deno.makeTempDir();
  try {
    const main = new URL("../../main.ts", import.meta.url).href;
    await Deno.writeTextFile(`${folder}/kubectl-podfit.ts`, `import ${JSON.stringify(main)};\n`);
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--config", config, "-P=lint", `${folder}/kubectl-podfit.ts`, "lint"],
      clearEnv: true,
      env: { DENO_DIR: await readDenoDir(), DENO_NO_UPDATE_CHECK: "1", HOME: folder },
      signal: AbortSignal.timeout(60_000),
    }).output();
    assertEquals(code, EXIT.failed);
    assertStringIncludes(new TextDecoder().decode(stderr), "; see kubectl podfit lint --help");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

function readHelp(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (text) => parts.push(text) }).outputHelp();
  return parts.join("");
}

function listExamples(help: string): readonly string[] {
  const [, examples = ""] = help.split("\nExamples:\n");
  return examples.split("\n").filter((line) => line.startsWith("  ") && !line.startsWith("  #")).map((line) =>
    line.trim()
  );
}

/** Throws where the program complains. */
async function accept(line: string): Promise<void> {
  const [, text = ""] = /(?:^|[ (])podfit ([^>)&]*)/.exec(line) ?? [];
  const args = text.trim().split(" ");
  assert(args[0] !== "", line);
  if (args[0] === "completion") {
    assertEquals((await runPodfit({ args, permissions: "lint" })).code, EXIT.ok, line);
    return;
  }
  const program = readProgram();
  for (const command of [program, ...program.commands]) command.exitOverride().configureOutput({ writeErr: () => {} });
  await program.parseAsync(args, { from: "user" });
}
