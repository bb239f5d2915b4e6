/** Does podfit take the commands that the documentation shows, and the chart the values that they set? */
import { assert, assertEquals } from "#assert";
import { listBlocks } from "../../tools/docs/markdown.ts";
import { readProgram } from "../support/completions.ts";
import { listPages } from "../support/doc_pages.ts";
import { runPodfit } from "../support/podfit_process.ts";
import { readLeaves } from "../support/chart_flips.ts";

Deno.test("podfit takes each of its commands that the documentation shows", async () => {
  const commands = (await listLines()).flatMap(({ file, line }) => listCommands(line).map((args) => ({ file, args })));
  assert(commands.length > 30, `${commands.length} commands`);
  for (const { file, args } of commands) assertEquals(await complain(args), null, `${file}: podfit ${args.join(" ")}`);
});

Deno.test("the chart has each value that a command of the documentation sets", async () => {
  const values = (await readLeaves()).map(({ path }) => path);
  const set = (await listLines()).flatMap(({ file, line }) =>
    [...line.matchAll(/--set ([^ ]+)/g)].flatMap(([, text = ""]) => text.split(",")).map((one) => ({
      file,
      path: one.split("=")[0] ?? "",
    }))
  );
  assert(set.length > 8, `${set.length} values`);
  assertEquals(set.filter(({ path }) => !values.includes(path)), []);
});

Deno.test("a command with a flag that podfit does not have is found, in a pipe too", async () => {
  const [first, second] = listCommands(
    "helm template a | podfit lint -f - && PRA_ENABLED=true podfit run --fast 'a b' > x",
  );
  assertEquals(first, ["lint", "-f", "-"]);
  assertEquals(second, ["run", "--fast", "a b"]);
  assertEquals(await complain(first ?? []), null);
  assert((await complain(second ?? []))?.includes("--fast"));
});

Deno.test("the page of lint shows what podfit lint prints", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/manifests`);
    await Deno.writeTextFile(`${folder}/manifests/my-app.yaml`, FAULTY);
    const { code, stdout, complaints } = await runPodfit({
      args: ["lint", "-f", `${folder}/manifests`],
      permissions: "lint",
    });
    assertEquals(code, 1);
    const printed = [...stdout.replaceAll(`${folder}/`, "").trimEnd().split("\n"), ...complaints].join("\n");
    const page = (await listPages()).find(({ file }) => file === "docs/how-to/lint-in-ci.md");
    const shown = listBlocks(page?.text ?? "").find(({ language }) => language === "text");
    assertEquals(shown?.text.trimEnd(), printed);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** With a kind that no autoscaler has and a duration with a space, next to an object that lint does not check. */
const FAULTY = `apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata:
  name: my-app-pra
spec:
  target:
    kind: Job
    name: my-app
  containerName: my-app
  policy:
    pollInterval: 10s
    consecutiveSamples: 3
    cooldown: 2 m
    cpu: {requests: {scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60}}
---
apiVersion: v1
kind: Service
metadata: {name: my-app}
`;

/** The lines of blocks that a shell runs, with continued lines joined. */
async function listLines(): Promise<readonly { readonly file: string; readonly line: string }[]> {
  return (await listPages()).flatMap(({ file, text }) =>
    listBlocks(text).filter(({ language }) => ["sh", "console"].includes(language)).flatMap((block) =>
      block.text.replaceAll(/\\\n\s*/g, "").split("\n").map((line) => ({ file, line }))
    )
  );
}

/** The arguments of each `podfit` in a line, as a shell splits them. POD and $pod are names that the reader puts in. */
function listCommands(line: string): readonly (readonly string[])[] {
  const commands = line.matchAll(/(?:^|[|&;(] *|\$ |=\w+ |kubectl )podfit ((?:'[^']*'|"[^"]*"|[^'"|&><)#])*)/g);
  return [...commands].map(([, text = ""]) =>
    [...text.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)/g)].map(([, single, double, bare]) =>
      single ?? (double ?? bare ?? "").replaceAll(/\$\w+|\b[A-Z]{2,}\b/g, "name")
    )
  ).filter((args) => args.length > 0);
}

/** What podfit says about its arguments; `null` if it takes them. It does no work. */
async function complain(args: readonly string[]): Promise<string | null> {
  const program = readProgram();
  let said = "";
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({ writeErr: (text) => said += text, writeOut: () => {} });
  }
  try {
    await program.parseAsync([...args], { from: "user" });
    return null;
  } catch (error) {
    return said || String(error);
  }
}
