/** Do kubectl's habits work, and does a flag mean the same in every command that has it? */
import { assert, assertEquals, assertThrows } from "#assert";
import type { Option } from "commander";
import { parseOutputFile, parseSelectorFlag, refuseNamespaceWithAll } from "../../lib/cli/command/shared_flags.ts";
import { StartError } from "../../lib/cli/command/process.ts";
import { formatData } from "../../lib/cli/terminal/data.ts";
import { readProgram } from "../support/completions.ts";
import { QUICK_START } from "../support/manifests.ts";
import { runPodfit } from "../support/podfit_process.ts";
import { parseAll } from "../../lib/runtime/yaml.ts";

/** The daemon's flags are a deployment's, and not kubectl's. */
function listCommands() {
  return readProgram().commands.filter((command) => command.name() !== "run");
}

Deno.test("a flag that several commands have is the same flag in all of them", () => {
  const shared = ["--namespace", "--all-namespaces", "--selector", "--watch", "--kubeconfig", "--context"];
  for (const name of shared) {
    const found = listCommands().flatMap((command): readonly Option[] =>
      command.options.filter(({ long }) => long === name)
    );
    assert(found.length >= 2, `${name}: ${found.length} commands have it`);
    assertEquals(new Set(found.map(({ flags, description }) => `${flags} ${description}`)).size, 1, name);
  }
});

Deno.test("a command that asks a cluster takes its kubeconfig, context and namespace", () => {
  const asking = listCommands().filter(({ options }) => options.some(({ long }) => long === "--kubeconfig"));
  const expected = ["adopt", "explain", "lint", "record", "release", "suggest", "top"];
  assertEquals(asking.map((command) => command.name()).sort(), expected);
  for (const command of asking) {
    const names = command.options.map(({ short, long }) => short ?? long);
    for (const name of ["-n", "--context"]) assert(names.includes(name), `${command.name()} ${name}`);
  }
});

Deno.test("a repeated flag takes one value each time, so that an argument may follow it", () => {
  for (const command of listCommands()) {
    const variadic = command.options.filter((option) => option.variadic).map(({ long }) => long);
    // simulate has no argument, and the query of --from has three words.
    const allowed = ["simulate"].includes(command.name()) ? ["--filename", "--from"] : ["--from"];
    assertEquals(variadic.filter((name) => !allowed.includes(name ?? "")), [], command.name());
  }
});

Deno.test("lint takes files, directories and stdin as arguments, next to -f, each file once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/a.yaml`, QUICK_START);
    await Deno.writeTextFile(`${folder}/b.yaml`, QUICK_START.replace("my-app-pra", "b"));
    const args = ["lint", `${folder}/a.yaml`, folder, "-f", `${folder}/b.yaml`, "-"];
    const stdin = QUICK_START.replace("my-app-pra", "c");
    const { code, complaints } = await runPodfit({ args, permissions: "lint", stdin });
    assertEquals([code, complaints.at(-1)?.slice(0, 31)], [0, "podfit: 3 autoscalers: 0 errors"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("-n is the namespace of manifests without one, also where no cluster is asked", async () => {
  const other = QUICK_START.replace("  name: my-app-pra", "  name: other\n  namespace: shop");
  const stdin = `${QUICK_START}\n---\n${other}`;
  const countTwins = async (...args: readonly string[]) => {
    const { stdout } = await runPodfit({ args: ["lint", "-", ...args], permissions: "lint", stdin });
    return stdout.split("\n").filter((line) => line.endsWith("[two-owners]")).length;
  };
  assertEquals([await countTwins("-n", "shop"), await countTwins()], [1, 0]);
});

Deno.test("lint -o yaml prints what -o json prints", async () => {
  const run = (format: string) =>
    runPodfit({ args: ["lint", "-", "-o", format], permissions: "lint", stdin: QUICK_START });
  const [json, yaml] = await Promise.all([run("json"), run("yaml")]);
  assertEquals(parseAll(yaml.stdout), [JSON.parse(json.stdout)]);
});

Deno.test("data is the same as JSON and as YAML, without what is undefined, and no text controls the terminal", () => {
  const value = { a: [1, null, "x: y"], b: undefined, c: "\u001b[31m\u202e" };
  const [parsed] = parseAll(formatData(value, "yaml"));
  assertEquals(parsed, JSON.parse(formatData(value, "json")));
  assertEquals(formatData([1], "json"), "[1]\n");
});

Deno.test("-n and -A contradict each other in every command, in the same words", () => {
  refuseNamespaceWithAll("shop", false);
  refuseNamespaceWithAll(undefined, true);
  assertThrows(() => refuseNamespaceWithAll("shop", true), StartError, "Cannot use --all-namespaces with --namespace");
});

Deno.test("-l takes what kubectl takes, and names what it cannot parse", () => {
  assertEquals(parseSelectorFlag(undefined), null);
  assertEquals(parseSelectorFlag("app=web,tier!=test")?.requirements.map(({ key }) => key), ["app", "tier"]);
  assertThrows(() => parseSelectorFlag("app=web,"), StartError, 'Cannot parse selector "app=web,"');
});

Deno.test("a command that writes a file refuses the word of a format as its name", () => {
  assertEquals(parseOutputFile({ name: "--output", text: "./json" }, "a manifest"), "./json");
  assertThrows(
    () => parseOutputFile({ name: "--output", text: "json" }, "a YAML manifest"),
    StartError,
    'Cannot use --output "json": it names a file here, as this command prints a YAML manifest; for a file write ./json',
  );
});
