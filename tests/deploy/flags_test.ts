/** Does podfit take the flags and variables that the chart starts it with, and as what? */
import { assert, assertEquals } from "#assert";
import { type FlagRow, FLAGS, VARIABLES } from "../../lib/cli/run/flags.ts";
import { createProgram, type RunOptions } from "../../lib/cli/run/options.ts";
import { parseObjects, type Rendered, renderText, type Values } from "../../tools/helm.ts";
import { COMMANDS } from "../../tools/image/facts.ts";
import { renderFew } from "../support/chart_renders.ts";
import { listFlips, readLeaves } from "../support/chart_flips.ts";
import { chartTest } from "../support/needs_helm.ts";

const ROWS: readonly FlagRow[] = Object.values(FLAGS);
/** What the downward API says, by field. */
const FIELDS: Readonly<Record<string, string>> = {
  "metadata.name": "web-1",
  "metadata.namespace": "shop",
  "spec.nodeName": "worker-1",
  "status.hostIP": "10.0.0.7",
  "status.podIPs": "10.1.0.5,fd00::5",
  "metadata.uid": "0b7c2f7e-9a64-4f1a-8d0a-3a5d1b1c2d3e",
};
/** Of these podfit reads none: they stand for something in the container's command, or Deno reads them. */
const FOR_OTHERS = ["NODE_IP", "POD_NAMESPACE", "POD_NAME", "DENO_V8_FLAGS"];

interface Start {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

chartTest("podfit takes every flag and every variable that a value of the chart becomes", async () => {
  const render = renderFew();
  const faults = await Promise.all(
    listFlips(await readLeaves()).map(async ({ name, values }) => {
      const start = readStart(parseObjects(await render(values)));
      return start === null ? [] : (await listRefused(start)).map((one) => `${name}: ${one}`);
    }),
  );
  assertEquals(faults.flat(), []);
});

chartTest("podfit takes the flags and variables of the example of a sidecar", async () => {
  const text = await Deno.readTextFile(new URL("../../deploy/sidecar-example.yaml", import.meta.url));
  const workload = parseObjects(text).find(({ kind }) => kind === "Deployment");
  const start = toStart(workload?.["spec"].template.spec.initContainers[0]);
  assertEquals(start.args, [
    "run",
    "--stats-source=metrics-api",
    "--listen=0.0.0.0:10280",
    "--debug-listen=0.0.0.0:10281",
  ]);
  assertEquals(await listRefused({ ...start, env: { ...start.env, PODFIT_POD: "shop/web-1" } }), []);
});

const CASES: Readonly<Record<string, readonly [Values, (options: RunOptions) => unknown, unknown]>> = {
  "watchNamespaces": [{ watchNamespaces: ["shop", "search"] }, ({ namespaces }) => namespaces, ["shop", "search"]],
  "mode: node-local": [
    { mode: "node-local" },
    ({ node, statsSource, cgroupRoot }) => [node, statsSource, cgroupRoot],
    ["worker-1", "cgroup", "/host/cgroup"],
  ],
  "mode: central": [{}, ({ node, statsSource }) => [node, statsSource], [null, "kubelet"]],
  "limits": [
    { limits: { minPollInterval: "5s", maxCpu: 2, maxMemory: "1Gi", maxContenders: 4, maxUnavailable: 0 } },
    ({ limits, maxContenders }) => ({ ...limits, excludedNamespaces: [], maxContenders }),
    {
      minPollIntervalMs: 5000,
      maxCpuMillicores: 2000,
      maxMemoryBytes: 2 ** 30,
      excludedNamespaces: [],
      objects: { maxAutoscalers: 500, maxScaledObjects: 500, maxBytes: 4 * 2 ** 20 },
      maxContenders: 4,
      maxUnavailable: { kind: "pods", pods: 0 },
    },
  ],
  "limits of objects (L57)": [
    {
      limits: { maxAutoscalersPerNamespace: 20, maxScaledObjectsPerNamespace: 30, maxObjectBytesPerNamespace: "1Mi" },
    },
    ({ limits: { objects } }) => objects,
    { maxAutoscalers: 20, maxScaledObjects: 30, maxBytes: 2 ** 20 },
  ],
  "limits of objects that are off (L57)": [
    { limits: { maxAutoscalersPerNamespace: 0, maxScaledObjectsPerNamespace: 0, maxObjectBytesPerNamespace: 0 } },
    ({ limits: { objects } }) => objects,
    { maxAutoscalers: null, maxScaledObjects: null, maxBytes: null },
  ],
  "excludeNamespaces": [
    { excludeNamespaces: ["kube-system", "ingress"] },
    ({ limits }) => limits.excludedNamespaces,
    ["kube-system", "ingress"],
  ],
  "excludeNamespaces without any (L56)": [
    { excludeNamespaces: [] },
    ({ limits }) => limits.excludedNamespaces,
    [],
  ],
  "limits.maxUnavailable in percent (L70)": [
    { limits: { maxUnavailable: "50%" } },
    ({ limits: { maxUnavailable } }) => maxUnavailable,
    { kind: "percent", percent: 50 },
  ],
  "limits.maxUnavailable, which is not set (L70)": [{}, ({ limits: { maxUnavailable } }) => maxUnavailable, undefined],
  "ignoreDisruptionBudgets (L71)": [
    { ignoreDisruptionBudgets: true },
    ({ ignoreDisruptionBudgets }) => ignoreDisruptionBudgets,
    true,
  ],
  "pace": [{ pace: { qps: 0.5, burst: 1000 } }, ({ pace }) => pace, { perSecond: 0.5, burst: 1000 }],
  "scaledObjects": [
    { scaledObjects: { enabled: true, clusterObjectNamespace: "ops" } },
    ({ scaledObjects, clusterObjectNamespace }) => [scaledObjects, clusterObjectNamespace],
    ["all", "ops"],
  ],
  "scaledObjects next to KEDA (M1)": [
    { scaledObjects: { mode: "selected" } },
    ({ scaledObjects }) => scaledObjects,
    "selected",
  ],
  "scaledObjects, which the mode turns off (M1)": [
    { scaledObjects: { enabled: true, mode: "off" } },
    ({ scaledObjects }) => scaledObjects,
    "off",
  ],
  "scaledObjects.maxTriggerAnswer": [
    { scaledObjects: { enabled: true, maxTriggerAnswer: "512Ki" } },
    ({ maxTriggerAnswer }) => maxTriggerAnswer,
    2 ** 19,
  ],
  "scaledObjects' way to zero (R59)": [
    { scaledObjects: { enabled: true, kedaDeactivation: true, maxDeactivationsPerMinute: 30 } },
    ({ kedaDeactivation, maxDeactivationsPerMinute }) => [kedaDeactivation, maxDeactivationsPerMinute],
    [true, 30],
  ],
  "scaledObjects, which are off (R1)": [
    { scaledObjects: { clusterObjectNamespace: "ops" } },
    ({ scaledObjects, clusterObjectNamespace }) => [scaledObjects, clusterObjectNamespace],
    ["off", "podfit-credentials"],
  ],
  "scaledObjects, as KEDA treats credentials (R16)": [
    { scaledObjects: { enabled: true, clusterCredentialsAnywhere: true, plainHttpCredentials: true } },
    (all) => [all.clusterCredentialsAnywhere, all.plainHttpCredentials, all.requireSecretLabel],
    [true, true, false],
  ],
  "scaledObjects with servers that triggers may and may not ask (R13)": [
    { scaledObjects: { enabled: true, triggerAllow: ["127.0.0.1", "*.shop.svc:80"], triggerDeny: ["10.0.0.0/8"] } },
    ({ triggerAllow, triggerDeny }) => [triggerAllow.map(({ port }) => port), triggerDeny.map(({ kind }) => kind)],
    [[null, 80], ["range"]],
  ],
  "scaledObjects, whose triggers do not ask podfit's own pod (R13)": [
    { scaledObjects: { enabled: true } },
    ({ environment: { podIps } }) => podIps,
    ["10.1.0.5", "fd00::5"],
  ],
  "scaledObjects with labelled secrets (R16)": [
    { scaledObjects: { enabled: true, requireSecretLabel: true } },
    (all) => [all.clusterCredentialsAnywhere, all.plainHttpCredentials, all.requireSecretLabel],
    [false, false, true],
  ],
  "metricsApis (M15)": [
    { scaledObjects: { enabled: true }, metricsApis: { enabled: true } },
    ({ metricsApis }) => metricsApis,
    true,
  ],
  "kubelet.ca": [
    { kubelet: { ca: { secret: { name: "ca" } } } },
    ({ kubeletCa }) => kubeletCa,
    "/etc/podfit/kubelet-ca/ca.crt",
  ],
  "kubelet.preferredAddressTypes": [
    { kubelet: { preferredAddressTypes: ["ExternalIP", "InternalIP"], insecureTls: true } },
    ({ kubeletPreferredAddressTypes: types, kubeletInsecureTls: insecure }) => [types, insecure],
    [["ExternalIP", "InternalIP"], true],
  ],
  "dryRun and log": [
    { dryRun: true, log: { level: "debug", format: "text" } },
    ({ dryRun, logLevel, logFormat }) => [dryRun, logLevel, logFormat],
    [true, "debug", "text"],
  ],
  "extraArgs, which go before what else says it": [
    { extraArgs: ["--log-level=warn"], log: { level: "debug" } },
    ({ logLevel }) => logLevel,
    "warn",
  ],
  "agentId and requireAnnotation": [
    { agentId: "7", requireAnnotation: true },
    ({ environment: { isEnabled, requiresAnnotation, agentId } }) => [isEnabled, requiresAnnotation, agentId],
    [true, true, "7"],
  ],
  "debug": [{}, ({ debugListen, podUid }) => [debugListen, podUid], [
    { hostname: "0.0.0.0", port: 8081 },
    "0b7c2f7e-9a64-4f1a-8d0a-3a5d1b1c2d3e",
  ]],
  "debug, for readers of the family of podfit's own address": [
    {},
    ({ environment: { podIps } }) => podIps,
    ["10.1.0.5", "fd00::5"],
  ],
  "debug, which is off": [{ debug: { enabled: false } }, ({ debugListen, podUid }) => [debugListen, podUid], [
    null,
    null,
  ]],
  "debug by IPv6": [{ ipFamily: "IPv6" }, ({ debugListen }) => debugListen, { hostname: "::", port: 8081 }],
  "ipFamily": [{ ipFamily: "IPv6" }, ({ listen }) => listen, { hostname: "::", port: 8080 }],
};

for (const [name, [values, read, expected]] of Object.entries(CASES)) {
  chartTest(`podfit is told of ${name}`, async () => {
    const start = readStart(parseObjects(await renderText({ values })));
    assert(start !== null);
    assertEquals(read(await readOptions(start)), expected);
  });
}

chartTest("the commands of the chart are those of the image", async () => {
  const values = { central: {}, "node-local": { mode: "node-local", statsSource: "kubelet" } };
  for (const [mode, given] of Object.entries(values)) {
    const command = findContainer(parseObjects(await renderText({ values: given })))?.["command"];
    assertEquals(command, COMMANDS[mode as keyof typeof values], mode);
  }
});

chartTest("the process may reach and read what its mode needs: named on its command line", async () => {
  const command = async (values: Values) => {
    const [, , , , set, ...rest] = findContainer(parseObjects(await renderText({ values })))?.["command"] ?? [];
    return [set, ...rest.slice(0, -1)];
  };
  const api = "$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)";
  const node = (...reached: readonly string[]) => ["-P=node-local", `--allow-net=${[api, ...reached].join()}`];
  assertEquals(await command({}), ["-P=central"]);
  assertEquals(await command({ mode: "node-local" }), node("0.0.0.0:8080", "0.0.0.0:8081"));
  const kubelet = { mode: "node-local", statsSource: "kubelet" };
  assertEquals(await command(kubelet), node("0.0.0.0:8080", "0.0.0.0:8081", "$(NODE_IP):10250"));
  const tls = { ...kubelet, metrics: { tls: { secretName: "tls" } }, networkPolicy: { kubeletPorts: [10260] } };
  assertEquals(await command(tls), node("0.0.0.0:8080", "0.0.0.0:8081", "$(NODE_IP):10260", "127.0.0.1"));
  assertEquals(await command({ mode: "node-local", debug: { enabled: false } }), node("0.0.0.0:8080"));
  // What DNS makes of a name is nothing that a flag could say.
  assertEquals(await command({ ...kubelet, kubelet: { preferredAddressTypes: ["Hostname"] } }), [undefined]);
  assertEquals(await command({ narrowPermissions: false }), [undefined]);
});

function findContainer(objects: readonly Rendered[]): Rendered | undefined {
  const workload = objects.find(({ kind }) => kind === "Deployment" || kind === "DaemonSet");
  return workload?.["spec"].template.spec.containers[0];
}

/** `null` where nothing runs. */
function readStart(objects: readonly Rendered[]): Start | null {
  const container = findContainer(objects);
  if (container === undefined) return null;
  return toStart(container);
}

function toStart(container: Rendered): Start {
  const env: readonly Variable[] = container["env"];
  return {
    args: container["args"],
    env: Object.fromEntries(env.map(({ name, value, valueFrom }) => {
      return [name, value ?? FIELDS[valueFrom?.fieldRef.fieldPath ?? ""] ?? ""];
    })),
  };
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

async function listRefused(start: Start): Promise<readonly string[]> {
  const unknown = listUnknown(start);
  if (unknown.length > 0) return unknown;
  return await readOptions(start).then(() => [], (error) => [String(error)]);
}

/** What stands nowhere in `podfit run --help`: flags, variables, sources of usage. */
function listUnknown({ args, env }: Start): readonly string[] {
  const known = [...ROWS.map(({ variable }) => variable), ...Object.keys(VARIABLES), ...FOR_OTHERS];
  const sources = args.filter((arg) => arg.startsWith("--stats-source="));
  return [
    ...args.slice(0, 1).filter((command) => command !== "run"),
    ...args.slice(1).map((arg) => arg.split("=")[0] ?? "").filter((flag) => !ROWS.some((row) => row.flag === flag)),
    ...sources.filter((arg) => !FLAGS.statsSource.help.includes(`${arg.split("=")[1]} (`)),
    ...Object.keys(env).filter((name) => !known.includes(name)),
  ];
}

/** As podfit itself reads them. Rejects with what is wrong. */
async function readOptions({ args, env }: Start): Promise<RunOptions> {
  const read: RunOptions[] = [];
  const run = (options: RunOptions) => {
    read.push(options);
    return Promise.resolve();
  };
  await createProgram((name) => env[name], { run })
    .exitOverride().parseAsync([...args], { from: "user" });
  const [options] = read;
  assert(options !== undefined);
  return options;
}
