import { assert, assertEquals, assertMatch } from "#assert";
import { autoscaler, DEPLOYMENT, scaledObject, STEP } from "./files.ts";

const PROJECT = new URL("../../../", import.meta.url).pathname;
const BALANCED = autoscaler("profile: balanced");

Deno.test("podfit simulate prints a table of how a policy fares", async () => {
  const { code, stdout, stderr } = await podfit({ "web.yaml": `${DEPLOYMENT}---\n${BALANCED}`, "step.csv": STEP }, [
    ...["-f", "web.yaml", "--load", "step.csv"],
  ]);
  assertEquals([code, stderr], [0, ""]);
  const rows = new Map(
    stdout.split("\n").map((line) => line.split(/ {2,}/)).map(([name = "", value = ""]) => [name, value]),
  );
  assert(stdout.startsWith("Deployment web, container app, 1 h\n"), stdout);
  assertEquals([rows.get("cpu used"), rows.get("cpu throttled, share")], ["775m", "0 %"]);
  assert(Number.parseFloat(rows.get("resizes") ?? "") > 0, stdout);
});

Deno.test("podfit simulate compares policies side by side and says which is better", async () => {
  const files = {
    "web.yaml": DEPLOYMENT,
    "balanced.yaml": BALANCED,
    "thrifty.yaml": autoscaler("profile: thrifty"),
    "step.csv": STEP,
  };
  const args = ["-f", "web.yaml", "-f", "balanced.yaml", "--policy", "thrifty.yaml", "--load", "step.csv"];
  const { code, stdout } = await podfit(files, args);
  assertEquals(code, 0);
  const slack = stdout.split("\n").find((line) => line.startsWith("cpu slack"));
  assert(slack?.endsWith("  thrifty.yaml"), stdout);
  assert(
    /^better, of \d+ figures that differ: web\.yaml balanced\.yaml in \d+, thrifty\.yaml in \d+$/m.test(stdout),
    stdout,
  );
});

Deno.test("podfit simulate shows no memory that no load has, and compares with a pod that is never resized", async () => {
  const { stdout } = await podfit({ "web.yaml": `${DEPLOYMENT}---\n${BALANCED}`, "step.csv": STEP }, [
    ...["-f", "web.yaml", "--load", "step.csv"],
  ]);
  assert(!/^memory |OOM kills/m.test(stdout), stdout);
  assertMatch(stdout, /^Not known: the load has no memory; it stays as it is, and no figure shows it\.$/m);
  assertMatch(stdout, /^ +web\.yaml +never resized +change$/m);
  assertMatch(stdout, /^cpu request +\d+m +200m +\+\d+ %$/m);
  assertMatch(stdout, /^resizes +[1-9]\d* +0$/m);
  const memory = "seconds,millicores,memory\n0,150,100Mi\n3600,150,100Mi\n";
  const known = await podfit({ "web.yaml": `${DEPLOYMENT}---\n${BALANCED}`, "both.csv": memory }, [
    ...["-f", "web.yaml", "--load", "both.csv"],
  ]);
  assertMatch(known.stdout, /^memory used +100Mi +100Mi$/m);
  assert(!known.stdout.includes("Not known"), known.stdout);
});

Deno.test("podfit simulate refuses replicas that depend on memory that no load has", async () => {
  const files = {
    "web.yaml": `${DEPLOYMENT}---\n${BALANCED}`,
    "memory.yaml": scaledObject("{type: memory, metricType: AverageValue, metadata: {value: 100Mi}}"),
    "step.csv": STEP,
  };
  const { code, stderr } = await podfit(files, ["-f", "web.yaml", "-f", "memory.yaml", "--load", "step.csv"]);
  assertEquals([code, stderr], [
    2,
    "podfit: Cannot simulate ScaledObject web: it has a memory trigger, and the load has no memory; add a column memory, or " +
    "leave the trigger out of the file\n",
  ]);
});

Deno.test("podfit simulate writes JSON that parses, with each resize, and a report", async () => {
  const files = { "web.yaml": `${DEPLOYMENT}---\n${BALANCED}`, "step.csv": STEP };
  const args = ["-f", "web.yaml", "--load", "app=step.csv", "--hours", "0.5", "-o", "json", "--html", "report.html"];
  const { code, stdout, read } = await podfit(files, args);
  assertEquals(code, 0);
  const { version, seed, runs: [run, baseline] } = JSON.parse(stdout);
  assertEquals([version, seed], [1, "1"]);
  assertEquals([run.workload, run.policy, run.seconds], ["Deployment web", "web.yaml", 1800]);
  assertEquals([baseline.policy, baseline.containers[0].resizes], [null, []]);
  const [app] = run.containers;
  assertEquals(Object.keys(app.cpu), [
    "usedMillicores",
    "requestMillicores",
    "limitMillicores",
    "slackMillicores",
    "underMillicores",
    "underSeconds",
    "throttledSeconds",
    "throttledPercent",
    "throttledCoreSeconds",
    "cost",
  ]);
  assertEquals([app.unknown, app.memory], [["memory"], null]);
  const up = app.resizes.find(({ action }: { readonly action: string }) => action === "scaleUp");
  assert(up.to.cpuRequestMillicores > up.from.cpuRequestMillicores, stdout);
  assertEquals(up.to.memoryLimitBytes, 512 * 2 ** 20);
  assert((read["report.html"] ?? "").startsWith("<!doctype html>"), read["report.html"]?.slice(0, 50));
});

Deno.test("podfit simulate scales pods by a ScaledObject, and refuses triggers that no load tells of, or that have a mistake (R4)", async () => {
  const files = {
    "web.yaml": `${DEPLOYMENT}---\n${BALANCED}`,
    "cpu.yaml": scaledObject("{type: cpu, metricType: AverageValue, metadata: {value: 100m}}"),
    "queue.yaml": scaledObject("{type: prometheus, metadata: {serverAddress: http://p, query: q, threshold: '5'}}"),
    "step.csv": STEP,
  };
  const scaled = await podfit(files, ["-f", "web.yaml", "-f", "cpu.yaml", "--load", "step.csv"]);
  assertEquals([scaled.code, scaled.stderr], [0, ""]);
  assert(/^pods, mean +[4-9]\.\d\d +[4-9]\.\d\d/m.test(scaled.stdout), scaled.stdout);
  const refused = await podfit(files, ["-f", "web.yaml", "-f", "queue.yaml", "--load", "step.csv"]);
  assertEquals(refused.code, 2);
  assert(
    refused.stderr.includes("ScaledObject web has a trigger that is not of cpu or memory (prometheus)"),
    refused.stderr,
  );
  const half = files["cpu.yaml"] + "  - {type: memory, metricType: AverageValue, metadata: {value: 1Q}}\n";
  const wrong = await podfit({ ...files, "half.yaml": half }, [
    "-f",
    "web.yaml",
    "-f",
    "half.yaml",
    "--load",
    "step.csv",
  ]);
  assertEquals(wrong.code, 2);
  assert(wrong.stderr.includes("half.yaml:11:57: ScaledObject web: spec.triggers[1].metadata.value: "), wrong.stderr);
});

Deno.test("podfit simulate names file, place and field of what is wrong in a manifest", async () => {
  const broken = DEPLOYMENT.replace("cpu: 200m", "cpu: 200q");
  const policy = autoscaler("profile: balancd");
  const { code, stderr } = await podfit({ "web.yaml": broken, "pra.yaml": policy, "step.csv": STEP }, [
    ...["-f", "web.yaml", "-f", "pra.yaml", "--load", "step.csv"],
  ]);
  assertEquals(code, 2);
  const [first = "", second = "", third = ""] = stderr.split("\n");
  const path = "spec.template.spec.containers[0].resources.requests.cpu";
  assert(first.startsWith(`podfit: web.yaml:16:22: Deployment web: ${path}: Cannot parse quantity "200q"`), first);
  assert(second.startsWith("podfit: pra.yaml:7:3: PodResourceAutoscaler web: spec.profile: "), second);
  assert(third.includes("podfit lint"), third);
});

Deno.test("podfit simulate says what is missing", async () => {
  const files = {
    "web.yaml": DEPLOYMENT,
    "pra.yaml": BALANCED.replace("name: web}", "name: other}"),
    "web-pra.yaml": BALANCED,
    "shop.yaml": DEPLOYMENT.replace("  name: web\n", "  name: web\n  namespace: shop\n"),
    "step.csv": STEP,
  };
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["-f", "web.yaml", "--load", "step.csv"], "no PodResourceAutoscaler in the files"],
    [["-f", "pra.yaml", "--load", "step.csv"], "no Deployment, StatefulSet, DaemonSet, ReplicaSet or Pod in the files"],
    [
      ["-f", "web.yaml", "-f", "pra.yaml", "--load", "step.csv"],
      "no container of Deployment web is one that web stands for",
    ],
    [
      ["-f", "shop.yaml", "-f", "web-pra.yaml", "--load", "step.csv"],
      "web cannot size Deployment shop/web from namespace default: set metadata.namespace of both to the same",
    ],
    [["-f", "web.yaml"], "without a load: name one with --load FILE"],
    [["-f", "web.yaml", "-f", "pra.yaml", "--load", "gone.csv"], "no container of Deployment web"],
    [["-f", "gone.yaml", "--load", "step.csv"], 'Cannot read "gone.yaml": no such file'],
    [
      ["-f", "web.yaml", "-f", "web-pra.yaml", "--load", "ap=step.csv"],
      'Cannot use load "ap=step.csv": it is of container ap, and the files have app',
    ],
    [["-f", "web.yaml", "--load", "step.csv", "--hours", "0"], 'Cannot read --hours "0"'],
  ];
  for (const [args, text] of cases) {
    const { code, stdout, stderr } = await podfit(files, args);
    assertEquals([code, stdout], [2, ""], stderr);
    assert(stderr.includes(text), stderr);
  }
});

Deno.test("podfit simulate leaves out the load of a workload without an autoscaler, and says so", async () => {
  const db = DEPLOYMENT.replace("name: web", "name: db").replace("name: app", "name: pg");
  const files = {
    "all.yaml": `${DEPLOYMENT}---\n${db}---\n${BALANCED}`,
    "step.csv": STEP,
    "long.csv": "seconds,millicores\n0,150\n7200,150\n",
  };
  const simulate = (...loads: readonly string[]) =>
    podfit(files, ["-f", "all.yaml", ...loads.flatMap((one) => ["--load", one])]);
  const { code, stdout, stderr } = await simulate("app=step.csv", "pg=long.csv");
  assertEquals([code, stderr], [
    0,
    'podfit: Load "pg=long.csv" is left out: no PodResourceAutoscaler in the files resizes a workload that uses it\n',
  ]);
  assert(stdout.startsWith("Deployment web, container app, 1 h\n"), stdout);
  const cases: readonly (readonly [string, string])[] = [
    ["p=long.csv", 'Cannot use load "p=long.csv": it is of container p, and the files have app, pg; correct the name'],
    ["pg=long.csv", "Cannot simulate Deployment web: each load is of another workload; add a load of app"],
  ];
  for (const [load, text] of cases) {
    const refused = await simulate(load);
    assertEquals([refused.code, refused.stdout, refused.stderr], [2, "", `podfit: ${text}\n`]);
  }
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly read: Readonly<Record<string, string>>;
}

/** Runs it in a folder with those files, and gives what is in the folder afterwards. */
async function podfit(files: Readonly<Record<string, string>>, args: readonly string[]): Promise<Ran> {
  const cwd = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${cwd}/${name}`, text);
    const run = [
      "run",
      "--quiet",
      "--no-check",
      "-A",
      "--config",
      `${PROJECT}deno.json`,
      `${PROJECT}main.ts`,
      "simulate",
    ];
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...run, ...args], cwd }).output();
    const read: Record<string, string> = {};
    for await (const { name } of Deno.readDir(cwd)) read[name] = await Deno.readTextFile(`${cwd}/${name}`);
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr), read };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}
