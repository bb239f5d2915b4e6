/** The command as a whole: on files, and on an embedded cluster whose pods it watches under virtual time. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import {
  fetchWorkload,
  listWorkloads,
  readHistory,
  toSubjects,
  watchWorkloads,
} from "../../../lib/cli/suggest/observed.ts";
import type { SuggestOptions } from "../../../lib/cli/suggest/options.ts";
import { suggest } from "../../../lib/cli/suggest/suggest.ts";
import type { PrometheusSource } from "../../../lib/cli/loads/loads.ts";
import { StartError } from "../../../lib/cli/command/process.ts";
import { createProxySource } from "../../../lib/usage/kubelet/fetch_summary.ts";
import { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";
import { formatLine, type RecordLine, toRecord } from "../../../lib/record/record.ts";
import type { Json } from "../../support/api_objects.ts";
import { point, START, usage } from "../../support/builders.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { evaluation } from "../../support/evaluations.ts";
import { findClosedPort, runPodfit, writeKubeconfig } from "../../support/podfit_process.ts";
import { autoscaler, DEPLOYMENT, STEP } from "../simulate/files.ts";

const OPTIONS: SuggestOptions = {
  workload: { kind: "deployment", name: "web" },
  namespace: null,
  isEveryNamespace: false,
  selector: null,
  forMs: 600_000,
  filenames: [],
  container: null,
  loads: [],
  records: [],
  prometheus: null,
  percentOfCores: 1,
  noise: null,
  budget: 3,
  output: null,
  server: {
    kubeconfigPaths: [],
    context: null,
    environment: { kubeconfig: null, home: null, serviceHost: null, servicePort: null },
  },
};

async function withFiles(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/web.yaml`, DEPLOYMENT);
    await Deno.writeTextFile(`${folder}/step.csv`, STEP);
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("suggest() writes a manifest for the container of the workload's manifest that lints clean", () =>
  withFiles(async (folder) => {
    const output = `${folder}/out.yaml`;
    const files = { loads: [`${folder}/step.csv`], filenames: [`${folder}/web.yaml`] };
    assertEquals(await suggest({ ...OPTIONS, ...files, output }), 0);
    const text = await Deno.readTextFile(output);
    const [manifest] = parseAll(text) as Json[];
    assertEquals(manifest.spec.containerName, "app");
    assertEquals(manifest.spec.target, { kind: "deployment", name: "web" });
    assertEquals(lintManifests([{ name: output, text }]).findings, []);
    assertStringIncludes(text.replaceAll("\n# ", " "), `what was seen: ${folder}/step.csv.`);
  }));

Deno.test("suggest and simulate say what to do where Deno does not let them write a file", () =>
  withFiles(async (folder) => {
    const files = ["-f", `${folder}/web.yaml`, "--load", `${folder}/step.csv`];
    const out = `${folder}/out.yaml`;
    const suggested = await runPodfit({ args: ["suggest", "deploy/web", ...files, "-o", out] });
    assertEquals([suggested.code, suggested.complaints], [2, [
      `podfit: Cannot write "${out}": Deno does not let it write there; start it with --allow-write=${out} before main.ts, ` +
      `or leave -o out and write > ${out}`,
    ]]);
    const html = `${folder}/report.html`;
    await Deno.writeTextFile(`${folder}/size.yaml`, autoscaler("profile: balanced"));
    const simulated = await runPodfit({
      args: ["simulate", ...files, "-f", `${folder}/size.yaml`, "--hours", "0.1", "--html", html],
    });
    assertEquals([simulated.code, simulated.complaints], [2, [
      `podfit: Cannot write "${html}": Deno does not let it write there; start it with --allow-write=${html} before ` +
      "main.ts, or use the program podfit of a release",
    ]]);
    // What was computed is not lost.
    assertStringIncludes(simulated.stdout, "never resized");
  }));

Deno.test("-n of suggest is the namespace of manifests without one", () =>
  withFiles(async (folder) => {
    const output = `${folder}/suggested.yaml`;
    const filenames = [`${folder}/web.yaml`];
    assertEquals(await suggest({ ...OPTIONS, loads: [`${folder}/step.csv`], filenames, namespace: "shop", output }), 0);
    const [manifest] = parseAll(await Deno.readTextFile(output)) as Json[];
    assertEquals(manifest.metadata.namespace, "shop");
  }));

Deno.test("suggest() is not done for a file that is no good, nor where nothing was seen", () =>
  withFiles(async (folder) => {
    await assertRejects(() => suggest({ ...OPTIONS, loads: [`${folder}/gone.csv`] }), StartError, "/gone.csv");
    await Deno.writeTextFile(`${folder}/short.csv`, "seconds,millicores\n0,1\n30,1\n");
    assertEquals(await suggest({ ...OPTIONS, loads: [`${folder}/short.csv`] }), 2);
    const loads = [`${folder}/step.csv`];
    const elsewhere = {
      ...OPTIONS,
      loads,
      filenames: [`${folder}/web.yaml`],
      workload: { kind: "deployment", name: "b" },
    } as const;
    await assertRejects(() => suggest(elsewhere), StartError, 'Cannot find deployment/b of "default" in the files');
  }));

Deno.test("readHistory() asks Prometheus, and takes a pod of the usual size where no manifest is given", async () => {
  const target = { kind: "deployment", namespace: "shop", name: "web" } as const;
  const range = { url: "http://p", query: "q", from: 0, to: 3_600_000 };
  const files = { csv: [], records: [], percentOfCores: 1, noise: null };
  const ask = (prometheus: PrometheusSource) => readHistory({ ...options, files: { ...files, prometheus } });
  const values = [[0, "0.2"], [3600, "0.4"]];
  const result = ["app", "proxy"].map((container) => ({ metric: { container }, values }));
  const text = JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
  const options = { target, filenames: [], container: null };
  const get = () => Promise.resolve({ status: 200, text });
  const watched = await ask({ range, get });
  assertEquals(watched.source, "Prometheus, 1h; a pod that begins with 500m of 1 CPU and 256Mi of 512Mi");
  const subjects = toSubjects(watched);
  assertEquals(subjects.map(({ container, seen }) => [container, seen]), [["app", ["cpu"]], ["proxy", ["cpu"]]]);
  assertEquals(subjects[0]?.pod.containers[0]?.spec["cpu.requests"], 500);
  const failing = { range, get: () => Promise.resolve({ status: 500, text: "{}" }) };
  const error = await ask(failing).catch((one: unknown) => one);
  assert(error instanceof StartError && error.message.includes('by query "q"'), String(error));
});

Deno.test("suggest of several loads counts what all of them have, and needs one resource in each", () =>
  withFiles(async (folder) => {
    await Deno.writeTextFile(`${folder}/both.csv`, "seconds,cpu,memory\n0,1,64Mi\n600,1,64Mi\n");
    await Deno.writeTextFile(`${folder}/memory.csv`, "seconds,memory\n0,64Mi\n600,64Mi\n");
    const target = { kind: "deployment", namespace: "default", name: "web" } as const;
    const read = (...names: readonly string[]) =>
      readHistory({
        target,
        filenames: [],
        container: "app",
        files: {
          csv: names.map((name) => `${folder}/${name}.csv`),
          records: [],
          percentOfCores: 1,
          noise: null,
          prometheus: null,
        },
      });
    const seenOf = async (...names: readonly string[]) => toSubjects(await read(...names)).map(({ seen }) => seen);
    assertEquals(await seenOf("both", "step"), [["cpu"]]);
    assertEquals(await seenOf("both", "memory"), [["memory"]]);
    await assertRejects(() => seenOf("step", "memory"), StartError, 'Cannot suggest for container "app": one load has');
  }));

/** A manifest whose pods have a second container. */
const TWO_CONTAINERS = `${DEPLOYMENT}      - name: proxy
        image: example.com/proxy:1
`;

Deno.test("-c of suggest is the container of a load that names none, with a manifest and without one", () =>
  withFiles(async (folder) => {
    await Deno.writeTextFile(`${folder}/two.yaml`, TWO_CONTAINERS);
    const target = { kind: "deployment", namespace: "default", name: "web" } as const;
    const suggestFor = async (container: string | null, csv: readonly string[], filenames: readonly string[] = []) => {
      const files = { csv, records: [], percentOfCores: 1, noise: null, prometheus: null };
      return toSubjects(await readHistory({ target, filenames, container, files })).map((one) => one.container);
    };
    const [step, two] = [`${folder}/step.csv`, [`${folder}/two.yaml`]];
    assertEquals(await suggestFor(null, [step], two), ["app", "proxy"]);
    assertEquals(await suggestFor("proxy", [step], two), ["proxy"]);
    assertEquals(await suggestFor("proxy", [step]), ["proxy"]);
    assertEquals(await suggestFor("proxy", [step, `app=${step}`]), ["proxy", "app"]);
    await assertRejects(
      () => suggestFor("ap", [step], two),
      StartError,
      'Cannot use --container "ap": deployment/web has app, proxy',
    );
    await assertRejects(
      () => suggestFor("proxy", [`app=${step}`], two),
      StartError,
      'Cannot use --container "proxy": each load names its container, and none names this one',
    );
  }));

Deno.test("suggest refuses a load of a container that its workload has not, and takes several of one that it has", () =>
  withFiles(async (folder) => {
    const [step, filenames] = [`${folder}/step.csv`, [`${folder}/web.yaml`]];
    const target = { kind: "deployment", namespace: "default", name: "web" } as const;
    const suggestFor = async (...csv: readonly string[]) => {
      const files = { csv, records: [], percentOfCores: 1, noise: null, prometheus: null };
      return toSubjects(await readHistory({ target, filenames, container: null, files })).map((one) =>
        one.loads.length
      );
    };
    assertEquals(await suggestFor(`app=${step}`, `app=${step}`), [2]);
    for (const loads of [[`zz=${step}`], [`zz=${step}`, `app=${step}`], [step, `zz=${step}`]]) {
      await assertRejects(
        () => suggestFor(...loads),
        StartError,
        `Cannot use load "zz=${step}": it is of container zz, and deployment/web has app; correct the name`,
      );
    }
  }));

Deno.test("suggest says what to do where the name of the workload or of a container cannot be a container's", () =>
  withFiles(async (folder) => {
    const step = `${folder}/step.csv`;
    const target = { kind: "deployment", namespace: "default", name: "web.v2" } as const;
    const files = { csv: [step], records: [], percentOfCores: 1, noise: null, prometheus: null };
    const read = (container: string | null) => readHistory({ target, filenames: [], container, files });
    await assertRejects(() => read(null), StartError, '"web.v2" is not a name of a container; name it with -c');
    assertEquals(toSubjects(await read("app")).map(({ container }) => container), ["app"]);
    const result = [{ metric: { container: "My_App" }, values: [[0, "0.2"], [3600, "0.4"]] }];
    const answer = JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
    await using prometheus = Deno.serve({ port: 0, onListen() {} }, () => new Response(answer));
    const source = ["--from", "prometheus", `http://127.0.0.1:${prometheus.addr.port}`, "q"];
    const { code, stdout, complaints } = await runPodfit({ args: ["suggest", "deployment/web", ...source] });
    assertEquals([code, stdout, complaints], [2, "", [
      'podfit: Cannot suggest for deployment/web: no autoscaler is valid for container "My_App"; correct its name in the ' +
      "load",
    ]]);
  }));

/** Records of these pods, each with the CPU of its place in the list: 100m, 200m, ... */
function formatRecords(pods: readonly string[]): string {
  const lines = pods.flatMap((name, index) =>
    [0, 60, 120].map((second): RecordLine => {
      const { before, input, outcome } = evaluation({});
      const now = START + second * 1000;
      const rate = { millicores: 100 * (index + 1), windowMs: 10_000 };
      const observation = usage([point({ at: now, rate })]);
      const pod = { ...input.pod, namespace: "shop", name };
      const record = toRecord({ before, input: { ...input, now, pod, observation }, outcome });
      return { kind: "pod", namespace: "shop", name, uid: name, count: 1, since: now, record };
    })
  );
  return lines.map(formatLine).join("\n");
}

Deno.test("suggest takes the pods of its own workload out of records, and not those of a longer name", () =>
  withFiles(async (folder) => {
    const files = { csv: [], records: [`${folder}/shop.jsonl`], percentOfCores: 1, noise: null, prometheus: null };
    const pods = ["web-66f4-aaaaa", "web-api-66f4-bbbbb", "web-66f4-ccccc", "web-0"];
    await Deno.writeTextFile(`${folder}/shop.jsonl`, formatRecords(pods));
    const podsOf = async (kind: "deployment" | "statefulset", name: string) => {
      const target = { kind, namespace: "shop", name };
      return (await readHistory({ target, filenames: [], container: null, files })).loads.map(({ pod }) => pod);
    };
    assertEquals(await podsOf("deployment", "web"), ["shop/web-66f4-aaaaa", "shop/web-66f4-ccccc"]);
    assertEquals(await podsOf("deployment", "web-api"), ["shop/web-api-66f4-bbbbb"]);
    assertEquals(await podsOf("statefulset", "web"), ["shop/web-0"]);
    await assertRejects(() => podsOf("statefulset", "db"), StartError, "Cannot find pods of statefulset/db of");
  }));

/** Two pods of 300m, and a third container that the kubelet never sees. */
const WEB: Json = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: {
        labels: { app: "web" },
        annotations: {
          "sim.podfit.dev/load": JSON.stringify({
            app: { cpuMillicores: { kind: "constant", value: 300 }, workingSetBytes: { kind: "constant", value: 1e8 } },
          }),
        },
      },
      spec: { containers: [{ name: "app", image: "example.com/app:1", resources: { requests: { cpu: "200m" } } }] },
    },
  },
};
const NODE = { name: "node-1", cpuMillicores: 8000, memoryBytes: 2 ** 34, pods: 50 };

Deno.test("watchWorkloads() sees what each pod of a workload uses, through the API server", async () => {
  await using run = await ClusterRun.start({ seed: "suggest", nodes: [NODE] });
  await run.create(WEB);
  await run.advance(60);
  const server = run.cluster.connect();
  const ending = new AbortController();
  const target = { kind: "deployment", namespace: "default", name: "web" } as const;
  const found = await fetchWorkload(server, target, ending.signal);
  assertEquals([found.pods.length, found.pod.containers[0]?.spec["cpu.requests"]], [2, 200]);
  assertEquals(
    (await listWorkloads(server, { namespace: "default", selector: null, signal: ending.signal })).map(({ target }) =>
      target
    ),
    [target],
  );
  const { clock } = run;
  using summaries = createProxySource(server, { clock });
  const watchUsage = watchKubelets(summaries, { clock, random: () => 0.5 });
  const failures: (string | null)[] = [];
  const watching = watchWorkloads([found], {
    watchUsage,
    clock,
    forMs: 300_000,
    signal: ending.signal,
    onReading: ({ failure }) => failures.push(failure),
  });
  await run.advance(301);
  const [watched] = await watching;
  assert(watched !== undefined);
  assertEquals(watched.source, "usage of 2 pods, watched for 5m");
  assert(failures.length > 50 && failures.every((one) => one === null));
  const [subject] = toSubjects(watched);
  assertEquals([subject?.container, subject?.seen, subject?.loads.length], ["app", ["cpu", "memory"], 2]);
  for (const { seconds, at } of subject?.loads ?? []) {
    assert(seconds > 240, String(seconds));
    assertEquals(at(120).workingSetBytes, 1e8);
    // A summary has whole seconds, and samples are 10 s apart at least.
    assert(Math.abs(at(120).cpuMillicores - 300) < 40, String(at(120).cpuMillicores));
  }
});

Deno.test("fetchWorkload() says what is not there", async () => {
  await using run = await ClusterRun.start({ seed: "suggest", nodes: [NODE] });
  const target = { kind: "deployment", namespace: "default", name: "gone" } as const;
  const found = await fetchWorkload(run.cluster.connect(), target, new AbortController().signal).catch((one: unknown) =>
    one
  );
  assert(
    found instanceof StartError && /Cannot read what to suggest for: .*"gone" not found/.test(found.message),
    String(found),
  );
});

Deno.test("podfit suggest says in one line that the cluster cannot be reached, and ends with 2", async () => {
  await using kubeconfig = await writeKubeconfig(`http://127.0.0.1:${findClosedPort()}`);
  for (const workload of [["deploy/web"], ["--all"]]) {
    const { code, stdout, complaints } = await runPodfit({
      args: ["suggest", ...workload, "--kubeconfig", kubeconfig.path],
      permissions: "start",
    });
    assertEquals([code, stdout, complaints.length], [2, "", 1], complaints.join("\n"));
    assertStringIncludes(complaints[0] ?? "", "podfit: Cannot reach API server");
  }
});
