/** Do shells complete podfit's commands, flags and values, all of them and no others? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { listCommands, toCommandSpec } from "../../../lib/cli/completion/spec.ts";
import { formatCompletion } from "../../../lib/cli/completion/completion.ts";
import { FLAGS } from "../../../lib/cli/run/flags.ts";
import { completeInBash, completeInFish, completeInZsh, readProgram, runShell } from "../../support/completions.ts";
import { shellTest } from "../../support/needs_shell.ts";
import { runPodfit } from "../../support/podfit_process.ts";

const COMMANDS = readProgram().commands.map((command) => command.name()).sort();
const LEVELS = ["debug", "error", "info", "warn"];
const FORMATS = ["github", "json", "text", "yaml"];

/** Lines before Tab, with what fits; of flags only whether these are among them. */
const LINES: readonly (readonly [line: string, words: readonly string[]])[] = [
  ["podfit ", COMMANDS],
  ["podfit li", ["lint"]],
  ["podfit run --log-level ", LEVELS],
  ["podfit run --log-level wa", ["warn"]],
  ["podfit run --log-level=d", ["debug"]],
  ["podfit run --context ", []],
  ["podfit run --context lint --log-f", ["--log-format"]],
  ["podfit lint -o ", FORMATS],
  ["podfit lint --output ", FORMATS],
  ["podfit lint --color never -o g", ["github"]],
  ["podfit lint --nam", ["--namespace"]],
  ["podfit lint -f w", ["web.yaml"]],
  ["podfit lint -f web.yaml sh", ["shop/"]],
  ["podfit lint -f web.yaml --all", ["--all-namespaces"]],
  ["podfit demo --sc", ["--scene"]],
  ["podfit demo --scene ", ["both", "sizes"]],
  ["podfit completion ", ["bash", "fish", "kubectl", "zsh"]],
];

Deno.test("the words of completion are the program's own: every command, and every flag of each", () => {
  const program = readProgram();
  const specs = listCommands(toCommandSpec(program));
  assertEquals(specs.map(({ path }) => path).sort(), ["podfit", ...COMMANDS.map((name) => `podfit ${name}`)]);
  const daemon = specs.find(({ path }) => path === "podfit run")?.flags.flatMap(({ names }) => names) ?? [];
  const flags = [...Object.values(FLAGS).map(({ flag }) => flag), "-h", "--help"];
  assertEquals([...daemon].sort(), [...flags].sort());
  for (const command of program.commands) {
    const names = specs.find(({ name }) => name === command.name())?.flags.flatMap((flag) => flag.names) ?? [];
    for (const { long } of command.options) assert(names.includes(long ?? ""), `${command.name()} ${long}`);
  }
});

for (const shell of ["bash", "zsh", "fish"] as const) {
  const ask = { bash: completeInBash, zsh: completeInZsh, fish: completeInFish }[shell];
  await shellTest(shell, `${shell} completes commands, flags, choices and files`, async () => {
    // fish knows of no value that takes several words.
    const lines = LINES.filter(([line]) => shell !== "fish" || !/-f web.yaml sh|--context lint/.test(line));
    const answers = await ask(lines.map(([line]) => line));
    const found = lines.map(([line, words]) => [line, answers[line]?.map((word) => clean(word, words)) ?? []]);
    assertEquals(found, lines.map(([line, words]) => [line, words.map((word) => clean(word, words))]));
  });

  await shellTest(shell, `${shell} completes every long flag of every command`, async () => {
    const specs = listCommands(toCommandSpec(readProgram()));
    const answers = await ask(specs.map(({ path }) => `${path} --`));
    for (const { path, flags } of specs) {
      const long = flags.flatMap(({ names }) => names).filter((name) => name.startsWith("--")).sort();
      // fish offers a flag whose value may be left out in both ways.
      assertEquals(answers[`${path} --`]?.filter((word) => /^--.*[^=]$/.test(word)), long, path);
    }
  });
}

await shellTest("bash", "bash has the function for both names of podfit, once the script is sourced", async () => {
  const script = formatCompletion("bash", readProgram());
  const text = await runShell("bash", ["--norc", "--noprofile", "-c", `${script}\ncomplete -p podfit kubectl-podfit`]);
  assertEquals(text.trim().split("\n"), ["complete -F _podfit podfit", "complete -F _podfit kubectl-podfit"]);
});

await shellTest("bash", "kubectl_complete-podfit prints what fits and how kubectl is to take it", async () => {
  const script = formatCompletion("kubectl", readProgram());
  const ask = (...words: readonly string[]) =>
    runShell("bash", ["--norc", "-c", script, "kubectl_complete-podfit", ...words]);
  assertEquals(await ask("li"), "lint\n:4\n");
  assertEquals(await ask("lint", "-o", ""), "text\njson\nyaml\ngithub\n:4\n");
  assertEquals(await ask("lint", "-o", "xml"), ":4\n");
  assertEquals(await ask("lint", "-f", "web"), "web.yaml\n:0\n");
});

Deno.test("podfit completion prints the script of a shell, and says which it knows", async () => {
  const { code, stdout } = await runPodfit({ args: ["completion", "bash"], permissions: "daemon" });
  assertEquals([code, stdout], [0, formatCompletion("bash", readProgram())]);
  const other = await runPodfit({ args: ["completion", "tcsh"], permissions: "daemon" });
  assertEquals([other.code, other.stdout], [2, ""]);
  assertStringIncludes(
    other.complaints[0] ?? "",
    "Allowed choices are bash, zsh, fish, kubectl; see podfit completion --help",
  );
});

/** Shells show a folder with or without its slash, and a value with or without its flag. */
function clean(word: string, words: readonly string[]): string {
  const bare = word.replace(/\/$/, "");
  return words.includes(bare) ? bare : bare.replace(/^--[\w-]+=/, "");
}
