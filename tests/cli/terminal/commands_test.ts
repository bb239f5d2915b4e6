/** Names that take a terminal over, through every command that prints names: as processes, with what they print. */
import { assert, assertEquals } from "#assert";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { createCommands } from "../../../lib/cli/commands.ts";
import { createProgram } from "../../../lib/cli/run/options.ts";
import { describePod } from "../../../lib/cli/explanation/words.ts";
import { explainPod } from "../../../lib/cli/explanation/explain_pod.ts";
import { toCharacters, toJson } from "../../../lib/cli/terminal/output.ts";
import { createStyle, type Style } from "../../../lib/cli/terminal/text.ts";
import { toRows, toTopTable } from "../../../lib/cli/top/top.ts";
import { parseLine } from "../../../lib/record/parse.ts";
import { formatLine, type RecordLine } from "../../../lib/record/record.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { autoscalerObject } from "../../support/api_objects.ts";
import { answerDebug, formatTestLine } from "../../support/debug_server.ts";
import { ExplainRun } from "../../support/explain_run.ts";
import { assertHarmless, HOSTILE, UNSEEN } from "../../support/hostile_text.ts";
import { type Ending, runPodfit, serveApi } from "../../support/podfit_process.ts";
import { keepLines } from "../../support/record_lines.ts";
import { recordStory } from "../../support/recorded_story.ts";
import { CPU_50, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";
import { autoscaler, DEPLOYMENT, STEP } from "../simulate/files.ts";

Deno.test("podfit top and explain print no control character of a name, and as JSON they keep the names", async () => {
  const lines = [...await recordPod(["main", "node-1"]), ...await recordReplicas(["web"])];
  await using server = serveApi(answerDebug(lines));
  const ask = (...args: readonly string[]) => podfit([...args, "-n", "default", "--url", server.origin]);
  const [top, topJson, pod, podJson, replicas, replicasJson] = await Promise.all([
    ask("top"),
    ask("top", "-o", "json"),
    ask("explain", "web"),
    ask("explain", "web", "-o", "json"),
    ask("explain", "scaledobject/so"),
    ask("explain", "scaledobject/so", "-o", "json"),
  ]);
  for (const [what, { code, stdout }] of Object.entries({ top, topJson, pod, podJson, replicas, replicasJson })) {
    assertEquals(code, 0, what);
    assertHarmless(stdout, what);
  }
  assertEquals(top.stdout.trimEnd().split("\n").length, 3);
  const rows: readonly { readonly name: string; readonly container?: string }[] = JSON.parse(topJson.stdout);
  assertEquals(rows.map(({ name, container }) => container ?? name), [`deployment/${HOSTILE}`, HOSTILE]);
  assertEquals(JSON.parse(podJson.stdout).node, HOSTILE);
  assertEquals(JSON.parse(replicasJson.stdout).target, `deployment/${HOSTILE}`);
});

Deno.test("on a terminal with colours, podfit top and explain show hostile names as they do without", async () => {
  const lines = await recordPod(["main", "node-1"]);
  const now = lines.at(-1)?.since ?? 0;
  const pod = explainPod(lines.filter((line) => line.kind === "pod"), { now });
  assert(pod !== null);
  const print = (style: Style) =>
    [
      ...describePod(pod, { style, columns: 80 }),
      ...toTopTable(toRows(lines.slice(-1), now).map((row) => ({ ...row, isHeld: true })), { style, columns: 200 }),
    ].map(toCharacters).join("\n");
  assertHarmless(print(createStyle(false)), "without colours");
  // deno-lint-ignore no-control-regex
  assertEquals(print(createStyle(true)).replaceAll(/\x1b\[(1|22|35|39)m/g, ""), print(createStyle(false)));
});

Deno.test("podfit record prints lines that hold the names, and no control character", async () => {
  const lines = await recordPod(["main", "node-1"]);
  // What podfit writes holds DEL, C1 and bidirectional characters as they are.
  await using server = serveApi(answerDebug(lines));
  const { code, stdout, complaints } = await podfit(["record", "web", "-n", "default", "--url", server.origin]);
  assertEquals(code, 0, complaints.join("\n"));
  assertHarmless(stdout, "record");
  assertEquals(
    stdout.trimEnd().split("\n").map((line) => JSON.parse(line)),
    lines.map((line) => JSON.parse(formatTestLine(line))),
  );
});

Deno.test("podfit replay prints no control character of a trace", async () => {
  const names = { namespace: HOSTILE, name: HOSTILE };
  const texts = recordStory({ load: { cpu: 90 }, answer: "enact" }).map((record) =>
    formatLine({ kind: "pod", ...names, uid: "u", count: 1, since: record.input.now, record })
  );
  const changed = texts.map((text) => text.replace('"action":"scaleUp"', '"action":"scaleDown"'));
  const cpu = { requests: { scaleUpThreshold: 200, scaleDownThreshold: 1, targetUtilization: 50 } };
  const policy = autoscalerObject({ policy: { consecutiveSamples: 1, cpu } });
  await using files = await writeFiles({
    "trace.jsonl": changed.join("\n"),
    [`${HOSTILE}.yaml`]: JSON.stringify(policy),
    "bad.jsonl": `{"kind":${toJson(HOSTILE)}}`,
  });
  const path = (name: string) => `${files.path}/${name}`;
  const [differs, compared, bad] = await Promise.all([
    podfit(["replay", path("trace.jsonl")]),
    podfit(["replay", path("trace.jsonl"), "--policy", path(`${HOSTILE}.yaml`)]),
    podfit(["replay", path("bad.jsonl")]),
  ]);
  assertEquals([differs.code, compared.code, bad.code], [1, 0, 2]);
  assertHarmless(differs.stdout, "replay");
  assertHarmless(compared.stdout, "replay --policy");
  assertHarmless(toSaid(bad), "an error of replay");
});

Deno.test("podfit lint prints no control character of files and their names in any format", async () => {
  const manifest = autoscaler("profile: balancd").replace("name: web", `name: ${toJson(HOSTILE)}`);
  await using files = await writeFiles({ [`${HOSTILE}.yaml`]: manifest });
  const lint = (...args: readonly string[]) => podfit(["lint", "-f", files.path, ...args]);
  const [text, github, json, gone] = await Promise.all([
    lint("-o", "text"),
    lint("-o", "github"),
    lint("-o", "json"),
    podfit(["lint", "-f", `${files.path}/no\n${HOSTILE}.yaml`]),
  ]);
  assertEquals([text.code, github.code, json.code, gone.code], [1, 1, 1, 2]);
  for (const [what, { stdout }] of Object.entries({ text, github, json })) assertHarmless(stdout, what);
  assertEquals(JSON.parse(json.stdout).findings[0].file, `${files.path}/${HOSTILE}.yaml`);
  assertHarmless(toSaid(gone), "a file that is not there");
  assertEquals(gone.complaints.filter((line) => !line.startsWith("podfit: ")), []);
});

Deno.test("podfit simulate prints no control character of a workload", async () => {
  const workload = DEPLOYMENT.replace("name: web", `name: ${toJson(HOSTILE)}`);
  const named = DEPLOYMENT.replace("name: app", `name: ${toJson(HOSTILE)}`);
  await using files = await writeFiles({
    [`${HOSTILE}.yaml`]: `${named}---\n${autoscaler("profile: balanced")}`,
    "wrong.yaml": workload.replace("cpu: 200m", `cpu: 200q, ${toJson(HOSTILE)}: 1`),
    "step.csv": STEP,
  });
  const path = (name: string) => `${files.path}/${name}`;
  const simulate = (name: string, ...args: readonly string[]) =>
    podfit(["simulate", "-f", path(name), "--load", path("step.csv"), "--hours", "0.1", ...args]);
  const [table, json, wrong] = await Promise.all([
    simulate(`${HOSTILE}.yaml`, "--policy", path(`${HOSTILE}.yaml`)),
    simulate(`${HOSTILE}.yaml`, "-o", "json"),
    simulate("wrong.yaml"),
  ]);
  assertEquals([table.code, json.code, wrong.code], [0, 0, 2], toSaid(table));
  assertHarmless(table.stdout, "simulate");
  assertHarmless(json.stdout, "simulate -o json");
  assertHarmless(toSaid(wrong), "a complaint of simulate");
  assertEquals(JSON.parse(json.stdout).runs[0].containers[0].container, HOSTILE);
});

Deno.test("podfit suggest prints no control character of a file, and a manifest that can be read", async () => {
  await using files = await writeFiles({
    "web.yaml": DEPLOYMENT,
    "others.yaml": DEPLOYMENT.replace("name: web", `name: ${toJson(HOSTILE)}`),
    [`${HOSTILE}.csv`]: STEP,
  });
  const load = ["--load", `${files.path}/${HOSTILE}.csv`, "--policies", "3"];
  const [suggested, missing] = await Promise.all([
    podfit(["suggest", "deployment/web", "-f", `${files.path}/web.yaml`, ...load]),
    podfit(["suggest", "deployment/web", "-f", `${files.path}/others.yaml`, ...load]),
  ]);
  assertEquals([suggested.code, missing.code], [0, 2], toSaid(suggested));
  assertHarmless(suggested.stdout, "suggest");
  const [manifest] = parseAll(suggested.stdout) as readonly { readonly spec: { readonly containerName: string } }[];
  assertEquals(manifest?.spec.containerName, "app");
  assertHarmless(toSaid(missing), "a workload that is not there");
});

Deno.test("no error message prints a control character of a flag or of an answer", async () => {
  await using server = serveApi(() => new Response(`no ${HOSTILE}`, { status: 500 }));
  const failed = await Promise.all([
    podfit(["top", "-n", "default", "--url", server.origin]),
    podfit(["explain", "web", "-n", "default", "--url", server.origin]),
    podfit(["record", "web", "-n", "default", "--url", server.origin]),
    podfit([`--${HOSTILE}`]),
    podfit([HOSTILE]),
    podfit(["demo", `--${HOSTILE}`]),
    podfit(["explain", HOSTILE]),
    podfit(["top", "--sort", HOSTILE]),
    podfit(["run", "--kubeconfig", `/${HOSTILE}`], { PRA_ENABLED: "true" }),
  ]);
  for (const [at, ending] of failed.entries()) {
    assert(ending.code !== 0, `${at}`);
    assertHarmless(toSaid(ending), `error ${at}`);
  }
});

/** Every command, so that a new one is a part of it. */
const COMMANDS = createProgram(() => undefined, {
  run: () => Promise.resolve(),
  commands: createCommands(() => Promise.resolve()),
}).commands.map((command) => command.name());

Deno.test("no command, and no help, prints a control character of what is typed", async () => {
  assert(COMMANDS.length >= 9, COMMANDS.join(" "));
  for (const name of [...COMMANDS, "no-command"]) {
    const [argument, flag, value, helped] = await Promise.all([
      podfit([name, HOSTILE, HOSTILE, HOSTILE]),
      podfit([name, `--${HOSTILE}`]),
      podfit([name, `-n=${HOSTILE}`, `--kubeconfig=/${HOSTILE}`, `--url=${HOSTILE}`, `-f=/${HOSTILE}`]),
      podfit([name, "--help", HOSTILE]),
    ]);
    const endings = Object.entries({ argument, flag, value, helped });
    for (const [what, ending] of endings) {
      const printed = `${ending.stdout}${toSaid(ending)}`;
      assert(printed !== "", `${name} ${what}`);
      assertEquals(UNSEEN.exec(printed)?.[0] ?? null, null, `${name} ${what}: ${JSON.stringify(printed)}`);
    }
    assert(flag.code !== 0, name);
    // It is refused by its own name, before what follows is looked at.
    if (name === "no-command") continue;
    assertHarmless(endings.map(([, ending]) => toSaid(ending)).join("\n"), `${name}, whatever is typed,`);
  }
});

/** Evaluations of pod "web" whose words are hostile. */
async function recordPod(words: readonly string[]): Promise<readonly RecordLine[]> {
  await using run = await ExplainRun.start();
  await run.advance(30);
  return makeHostile(run.lines.pod("web"), words);
}

/** The last evaluation of ScaledObject "so" of Deployment "web", whose words are hostile. */
async function recordReplicas(words: readonly string[]): Promise<readonly RecordLine[]> {
  const lines = keepLines();
  await using run = await ReplicasRun.start([
    deployment("web", { replicas: 2, containers: [{ requests: { cpu: "100m" }, cpuMillicores: 90 }] }),
    scaledObject("so", [CPU_50], { spec: { minReplicaCount: 1, maxReplicaCount: 2 } }),
  ], { onPass: lines.onPass });
  await run.advance(60);
  const ticks = lines.scaledObject("so").filter(({ record }) => record.outcome.report?.half === "tick");
  return makeHostile(ticks.slice(-1), words);
}

/** The lines as somebody could write them: read back, as podfit's commands do. */
function makeHostile(lines: readonly RecordLine[], words: readonly string[]): readonly RecordLine[] {
  assert(lines.length > 0);
  return lines.map((line) => {
    const text = words.reduce(
      (rest, word) => rest.replaceAll(`"${word}"`, JSON.stringify(HOSTILE)),
      formatTestLine(line),
    );
    const parsed = parseLine(text);
    assert(parsed.ok, JSON.stringify(parsed));
    return parsed.value;
  });
}

function podfit(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ending> {
  return runPodfit({ args, env });
}

/** All of stderr. */
function toSaid({ complaints, log }: Ending): string {
  return [...complaints, ...log.map(({ message }) => message)].join("\n");
}

async function writeFiles(files: Readonly<Record<string, string>>): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir();
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${path}/${name}`, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
