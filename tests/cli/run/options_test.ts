/** Which options come of which flags and variables, and what is refused? */
import { CommanderError } from "commander";
import { createDemoCommand } from "../../../lib/cli/demo/options.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { type FlagRow, FLAGS, VARIABLES } from "../../../lib/cli/run/flags.ts";
import { createProgram, type RunOptions } from "../../../lib/cli/run/options.ts";
import type { Json } from "../../support/api_objects.ts";
import { StartError } from "../../../lib/cli/command/process.ts";

const UID = "0b7c2f7e-9a64-4f1a-8d0a-3a5d1b1c2d3e";
const OBJECTS = { maxAutoscalers: 500, maxScaledObjects: 500, maxBytes: 4 * 2 ** 20 };

const DEFAULTS: RunOptions = {
  kubeconfigPaths: [],
  context: null,
  namespaces: null,
  statsSource: "kubelet",
  node: null,
  pod: null,
  cgroupRoot: null,
  kubeletCa: null,
  kubeletInsecureTls: false,
  kubeletTokenFile: null,
  kubeletOwnCredential: false,
  kubeletPreferredAddressTypes: ["InternalIP"],
  limits: {
    minPollIntervalMs: null,
    maxCpuMillicores: null,
    maxMemoryBytes: null,
    excludedNamespaces: ["kube-system", "kube-public", "kube-node-lease"],
    objects: OBJECTS,
  },
  maxContenders: 16,
  ignoreDisruptionBudgets: false,
  scaledObjects: "off",
  kedaDeactivation: false,
  maxDeactivationsPerMinute: null,
  maxTriggerAnswer: null,
  clusterObjectNamespace: "podfit-credentials",
  clusterCredentialsAnywhere: false,
  plainHttpCredentials: false,
  requireSecretLabel: false,
  metricsApis: false,
  triggerAllow: [],
  triggerDeny: [],
  leaderElection: { isOn: null, name: "podfit", namespace: null },
  dryRun: false,
  logLevel: "info",
  logFormat: "json",
  pace: { perSecond: 100, burst: 200 },
  listen: { hostname: "0.0.0.0", port: 8080 },
  debugListen: null,
  podUid: null,
  tls: null,
  metricsAuth: false,
  environment: {
    isEnabled: false,
    requiresAnnotation: false,
    agentId: "",
    kubeconfig: null,
    home: null,
    hostname: null,
    serviceHost: null,
    servicePort: null,
    podIps: [],
  },
};

type Env = Readonly<Record<string, string>>;

Deno.test("createProgram() has defaults", async () => assertEquals(await read([], {}), DEFAULTS));

Deno.test("each flag and its variable mean the same", async () => {
  const cases: readonly (readonly [keyof typeof FLAGS, string | null, Partial<RunOptions>])[] = [
    ["kubeconfig", "/a/config", { kubeconfigPaths: ["/a/config"] }],
    ["context", "production", { context: "production" }],
    ["namespace", "a", { namespaces: ["a"] }],
    ["namespace", "a,b, c,", { namespaces: ["a", "b", "c"] }],
    ["namespace", "b,a,b", { namespaces: ["b", "a"] }],
    ["excludeNamespace", "kube-system,ops", {
      limits: { ...DEFAULTS.limits, excludedNamespaces: ["kube-system", "ops"] },
    }],
    ["excludeNamespace", "none", { limits: { ...DEFAULTS.limits, excludedNamespaces: [] } }],
    ["statsSource", "proxy", { statsSource: "proxy" }],
    ["node", "worker-1.example.com", { node: "worker-1.example.com" }],
    ["kubeletCa", "/ca.crt", { kubeletCa: "/ca.crt" }],
    ["kubeletInsecureTls", null, { kubeletInsecureTls: true }],
    ["kubeletTokenFile", "/token", { kubeletTokenFile: "/token" }],
    ["kubeletOwnCredential", null, { kubeletOwnCredential: true }],
    ["kubeletPreferredAddressTypes", "Hostname, InternalIP", {
      kubeletPreferredAddressTypes: ["Hostname", "InternalIP"],
    }],
    ["minPollInterval", "15s", { limits: { ...DEFAULTS.limits, minPollIntervalMs: 15_000 } }],
    ["maxCpu", "8", { limits: { ...DEFAULTS.limits, maxCpuMillicores: 8000 } }],
    ["maxMemory", "64Gi", { limits: { ...DEFAULTS.limits, maxMemoryBytes: 64 * 2 ** 30 } }],
    ["maxContenders", "3", { maxContenders: 3 }],
    ["maxAutoscalersPerNamespace", "7", { limits: { ...DEFAULTS.limits, objects: { ...OBJECTS, maxAutoscalers: 7 } } }],
    ["maxAutoscalersPerNamespace", "0", {
      limits: { ...DEFAULTS.limits, objects: { ...OBJECTS, maxAutoscalers: null } },
    }],
    ["maxScaledObjectsPerNamespace", "7", {
      limits: { ...DEFAULTS.limits, objects: { ...OBJECTS, maxScaledObjects: 7 } },
    }],
    ["maxObjectBytesPerNamespace", "1Mi", {
      limits: { ...DEFAULTS.limits, objects: { ...OBJECTS, maxBytes: 2 ** 20 } },
    }],
    ["maxObjectBytesPerNamespace", "0", { limits: { ...DEFAULTS.limits, objects: { ...OBJECTS, maxBytes: null } } }],
    ["maxUnavailable", "50%", { limits: { ...DEFAULTS.limits, maxUnavailable: { kind: "percent", percent: 50 } } }],
    ["ignoreDisruptionBudgets", null, { ignoreDisruptionBudgets: true }],
    ["scaledObjects", "selected", { scaledObjects: "selected" }],
    ["kedaDeactivation", null, { kedaDeactivation: true }],
    ["maxDeactivationsPerMinute", "30", { maxDeactivationsPerMinute: 30 }],
    ["clusterObjectNamespace", "ops", { clusterObjectNamespace: "ops" }],
    ["clusterCredentialsAnywhere", null, { clusterCredentialsAnywhere: true }],
    ["plainHttpCredentials", null, { plainHttpCredentials: true }],
    ["requireSecretLabel", null, { requireSecretLabel: true }],
    ["metricsApis", null, { metricsApis: true }],
    ["maxTriggerAnswer", "1Mi", { maxTriggerAnswer: 2 ** 20 }],
    ["triggerAllow", "localhost, *.shop.svc:80", {
      triggerAllow: [
        { kind: "name", name: "localhost", isSuffix: false, port: null },
        { kind: "name", name: "shop.svc", isSuffix: true, port: 80 },
      ],
    }],
    ["triggerDeny", "10.0.0.0/8", {
      triggerDeny: [{ kind: "range", range: { ip: [10, 0, 0, 0], bits: 8 }, port: null }],
    }],
    ["leaderElect", null, { leaderElection: { ...DEFAULTS.leaderElection, isOn: true } }],
    ["leaderElect", "false", { leaderElection: { ...DEFAULTS.leaderElection, isOn: false } }],
    ["leaderElectResourceName", "podfit.blue", { leaderElection: { ...DEFAULTS.leaderElection, name: "podfit.blue" } }],
    ["leaderElectResourceNamespace", "ops", { leaderElection: { ...DEFAULTS.leaderElection, namespace: "ops" } }],
    ["dryRun", null, { dryRun: true }],
    ["logLevel", "debug", { logLevel: "debug" }],
    ["logFormat", "text", { logFormat: "text" }],
    ["kubeApiQps", "0.5", { pace: { perSecond: 0.5, burst: 200 } }],
    ["kubeApiBurst", "10", { pace: { perSecond: 100, burst: 10 } }],
    ["listen", "127.0.0.1:0", { listen: { hostname: "127.0.0.1", port: 0 } }],
    ["listen", ":9090", { listen: { hostname: "0.0.0.0", port: 9090 } }],
    ["listen", "[::1]:65535", { listen: { hostname: "::1", port: 65535 } }],
    ["listen", "localhost:80", { listen: { hostname: "localhost", port: 80 } }],
    ["debugListen", "127.0.0.1:8081", { debugListen: { hostname: "127.0.0.1", port: 8081 } }],
    ["podUid", UID, { podUid: UID }],
    ["metricsAuth", null, { metricsAuth: true }],
  ];
  for (const [name, value, difference] of cases) {
    const { flag, variable } = FLAGS[name];
    const expected = { ...DEFAULTS, ...difference };
    assertEquals(await read(value === null ? [flag] : [flag, value], {}), expected, flag);
    assertEquals(await read([], { [variable]: value ?? "true" }), expected, variable);
    if (value !== null) assertEquals(await read([`${flag}=${value}`], {}), expected, `${flag}=`);
  }
  // The cgroup source, a sidecar and a certificate are no options by themselves: see below.
  const pairs = ["cgroupRoot", "pod", "tlsCertFile", "tlsPrivateKeyFile"];
  const others = Object.keys(FLAGS).filter((name) => !pairs.includes(name));
  assertEquals([...new Set(cases.map(([name]) => name))], others);
});

Deno.test("a flag wins over its variable, also when the variable is wrong", async () => {
  const env = { PODFIT_NAMESPACE: "a", PODFIT_LOG_LEVEL: "loud", PODFIT_DRY_RUN: "perhaps" };
  const options = await read(["--namespace", "b", "--log-level", "warn", "--dry-run"], env);
  assertEquals([options.namespaces, options.logLevel, options.dryRun], [["b"], "warn", true]);
});

Deno.test("--namespace and --kubeconfig add up, of another flag the last counts", async () => {
  const args = ["--namespace=a,b", "--namespace=c", "--namespace=a", "--kubeconfig=/1", "--kubeconfig=/2"];
  const options = await read([...args, "--context=x", "--context=y"], {});
  assertEquals([options.namespaces, options.kubeconfigPaths, options.context], [["a", "b", "c"], ["/1", "/2"], "y"]);
});

Deno.test("a variable of true or false is read as such, whatever its flag does", async () => {
  for (
    const [text, value] of [["true", true], ["1", true], ["T", true], ["false", false], ["0", false], ["F", false]]
  ) {
    const env = { PODFIT_DRY_RUN: `${text}`, PODFIT_KUBELET_INSECURE_TLS: `${text}` };
    const { dryRun, kubeletInsecureTls } = await read([], env);
    assertEquals([dryRun, kubeletInsecureTls], [value, value], `${text}`);
  }
});

Deno.test("replicas are set only where somebody says so, and by a podfit that sees whole workloads (R1)", async () => {
  assertEquals((await read([], {})).scaledObjects, "off");
  assertEquals((await read([], { PODFIT_SCALED_OBJECTS: "false" })).scaledObjects, "off");
  assertEquals((await read(["--scaled-objects", "--namespace=a"], {})).scaledObjects, "all");
  const why = "replicas need all pods of a workload; leave it out here (or PODFIT_SCALED_OBJECTS), and give it to a " +
    "podfit without --node and --pod";
  const sidecar = { PODFIT_POD: "shop/web-1", PODFIT_STATS_SOURCE: "metrics-api" };
  const cases: readonly (readonly [part: string, Env])[] = [
    ["--node worker-1", { PODFIT_NODE: "worker-1" }],
    ["--pod shop/web-1", sidecar],
  ];
  for (const [part, env] of cases) {
    const refused = () => read([], { ...env, PODFIT_SCALED_OBJECTS: "true" });
    await assertRejects(refused, StartError, `Cannot use --scaled-objects with ${part}: ${why}`);
    assertEquals((await read([], env)).scaledObjects, "off");
  }
});

Deno.test("records are not served to every client: the listener is local, or says how readers are checked", async () => {
  const refused = (address: string) =>
    `Cannot use --debug-listen ${address} without --pod-uid: every pod could read the records; set PODFIT_POD_UID from ` +
    "the field metadata.uid, or use --metrics-auth, or listen on 127.0.0.1";
  for (const address of ["0.0.0.0:8081", "10.0.0.7:8081", "example:8081"]) {
    assertEquals(await refuse(["--debug-listen", address], {}), refused(address));
    for (const more of [["--pod-uid", UID], ["--metrics-auth"]]) {
      assertEquals((await read(["--debug-listen", address, ...more], {})).debugListen?.port, 8081);
    }
  }
  for (const address of ["127.0.0.1:8081", "localhost:8081", "[::1]:8081"]) {
    assertEquals((await read(["--debug-listen", address], {})).podUid, null);
  }
});

Deno.test("PRA_ENABLED is off unless it says true (C14); so is PRA_REQUIRES_ANNOTATED_PODS (C11)", async () => {
  const cases: Readonly<Record<string, boolean>> = {
    "": false,
    "false": false,
    "False": false,
    "0": false,
    "f": false,
    "true": true,
    "TRUE": true,
    "True": true,
    "1": true,
    "t": true,
    " true\n": true,
  };
  for (const [text, value] of Object.entries(cases)) {
    const one = (await read([], { PRA_ENABLED: text })).environment;
    assertEquals([one.isEnabled, one.requiresAnnotation], [value, false], `"${text}"`);
    const other = (await read([], { PRA_REQUIRES_ANNOTATED_PODS: text })).environment;
    assertEquals([other.isEnabled, other.requiresAnnotation], [false, value], `"${text}"`);
  }
});

Deno.test("empty variables are as good as none", async () => {
  const names = [
    ...Object.values(FLAGS).map(({ variable }) => variable),
    ...Object.keys(VARIABLES),
    "KUBECONFIG",
    "HOME",
  ];
  for (const blank of ["", " "]) {
    assertEquals(await read([], Object.fromEntries(names.map((name) => [name, blank]))), DEFAULTS);
  }
});

Deno.test("variables of the platform are handed on", async () => {
  const env = {
    KEDIFY_AGENT_ID: "agent-1",
    KUBECONFIG: "/a:/b",
    HOME: "/home/x",
    HOSTNAME: "podfit-0",
    KUBERNETES_SERVICE_HOST: "10.0.0.1",
    KUBERNETES_SERVICE_PORT: "443",
    PODFIT_POD_IPS: "10.1.0.5, fd00::5",
  };
  assertEquals((await read([], env)).environment, {
    isEnabled: false,
    requiresAnnotation: false,
    agentId: "agent-1",
    kubeconfig: "/a:/b",
    home: "/home/x",
    hostname: "podfit-0",
    serviceHost: "10.0.0.1",
    servicePort: "443",
    podIps: ["10.1.0.5", "fd00::5"],
  });
});

Deno.test("values that make no sense are refused, by flag or variable", async () => {
  const listen = "write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080";
  const label = (name: string) => `"${name}" is not a namespace name: lower case letters, digits and "-", at most 63`;
  const cases: readonly (readonly [keyof typeof FLAGS, string, string])[] = [
    ["namespace", ",", "it names no namespace"],
    ["namespace", "a,B", label("B")],
    ["namespace", "-a", label("-a")],
    ["namespace", "a.b", label("a.b")],
    ["namespace", "a".repeat(64), label("a".repeat(64))],
    ["statsSource", "cadvisor", "write kubelet, proxy, cgroup, metrics-api or auto"],
    ["node", "Worker", 'it is not a node name: lower case letters, digits, "-" and ".", at most 253'],
    ["node", "a".repeat(254), 'it is not a node name: lower case letters, digits, "-" and ".", at most 253'],
    ["logLevel", "INFO", "write debug, info, warn or error"],
    ["logFormat", "xml", "write text or json"],
    ["listen", "8080", listen],
    ["debugListen", "8081", listen],
    ["listen", "127.0.0.1", listen],
    ["listen", "127.0.0.1:65536", listen],
    ["listen", "::1:8080", listen],
    ["listen", "http://127.0.0.1:8080", listen],
    ["listen", "a b:80", listen],
    ["podUid", "web-1", "it is not a uid, as in metadata.uid of a pod"],
    ["maxCpu", "-1", "write a quantity such as 8 or 500m"],
  ];
  for (const [name, value, why] of cases) {
    const { flag, variable } = FLAGS[name];
    assertEquals(await refuse([`${flag}=${value}`], {}), `Cannot read ${flag} "${value}": ${why}`);
    assertEquals(await refuse([], { [variable]: value }), `Cannot read ${variable} "${value}": ${why}`);
  }
  for (const name of ["PRA_ENABLED", "PRA_REQUIRES_ANNOTATED_PODS", "PODFIT_DRY_RUN", "PODFIT_KUBELET_INSECURE_TLS"]) {
    assertEquals(await refuse([], { [name]: "yes" }), `Cannot read ${name} "yes": write true or false`);
  }
});

Deno.test("an empty flag is refused: a script's variable was not set", async () => {
  for (const { flag } of Object.values(FLAGS).filter(({ value }) => value !== null)) {
    assertEquals(await refuse([flag, ""], {}), `Cannot read ${flag} "": it is empty`);
  }
});

Deno.test("a CA for kubelets and no check of them contradict each other", async () => {
  const message = await refuse(["--kubelet-ca=/ca.crt"], { PODFIT_KUBELET_INSECURE_TLS: "true" });
  assertStringIncludes(message, "Cannot use --kubelet-ca with --kubelet-insecure-tls: ");
  assertEquals((await read(["--kubelet-ca=/c"], { PODFIT_KUBELET_INSECURE_TLS: "false" })).kubeletCa, "/c");
});

Deno.test("podfit's own token for kubelets goes to no unchecked kubelet, and not with another token (C54)", async () => {
  for (const other of ["--kubelet-insecure-tls", "--kubelet-token-file"]) {
    const args = [other, ...other === "--kubelet-token-file" ? ["/t"] : []];
    const message = await refuse(args, { PODFIT_KUBELET_OWN_CREDENTIAL: "true" });
    assertStringIncludes(message, `Cannot use --kubelet-own-credential with ${other}: `);
  }
});

Deno.test("a certificate and its key go together", async () => {
  const env = { PODFIT_TLS_CERT_FILE: "/tls.crt", PODFIT_TLS_PRIVATE_KEY_FILE: "/tls.key" };
  const expected = { ...DEFAULTS, tls: { certPath: "/tls.crt", keyPath: "/tls.key" } };
  assertEquals(await read([], env), expected);
  assertEquals(await read(["--tls-cert-file", "/tls.crt", "--tls-private-key-file=/tls.key"], {}), expected);
  const rest = "a certificate and its key go together";
  assertEquals(
    await refuse(["--tls-cert-file=/tls.crt"], {}),
    `Cannot use --tls-cert-file without --tls-private-key-file: ${rest}`,
  );
  assertEquals(
    await refuse([], { PODFIT_TLS_PRIVATE_KEY_FILE: "/tls.key" }),
    `Cannot use PODFIT_TLS_PRIVATE_KEY_FILE without --tls-cert-file: ${rest}`,
  );
});

Deno.test("a token for kubelets is refused where none is asked, and taken where some may be (C54)", async () => {
  const cgroup = ["--node", "n1", "--cgroup-root", "/host/cgroup"];
  for (const [source, more] of [["proxy", []], ["metrics-api", []], ["cgroup", cgroup]] as const) {
    const message = await refuse(["--stats-source", source, ...more], { PODFIT_KUBELET_TOKEN_FILE: "/t" });
    assertStringIncludes(message, `Cannot use --kubelet-token-file with --stats-source ${source}: no kubelet is asked`);
  }
  for (const source of ["kubelet", "auto"]) {
    const options = await read(["--stats-source", source, "--kubelet-token-file", "/t"], {});
    assertEquals(options.kubeletTokenFile, "/t");
  }
});

Deno.test("the cgroup source is one node's, and says what it lacks (L61)", async () => {
  const source = { PODFIT_STATS_SOURCE: "cgroup", PODFIT_NODE: "n1", PODFIT_CGROUP_ROOT: "/host/cgroup" };
  const expected = { ...DEFAULTS, statsSource: "cgroup", node: "n1", cgroupRoot: "/host/cgroup" } as const;
  assertEquals(await read([], source), expected);
  const args = ["--stats-source", "cgroup", "--node", "n1", "--cgroup-root", "/host/cgroup"];
  assertEquals(await read(args, {}), expected);
  const cases: readonly (readonly [string[], string])[] = [
    [args.slice(0, 2), "Cannot use --stats-source cgroup without --node: name the node whose cgroups these are"],
    [args.slice(0, 4), "Cannot use --stats-source cgroup without --cgroup-root: mount the node's /sys/fs/cgroup"],
    [args.slice(4), "Cannot use --cgroup-root with --stats-source kubelet: add --stats-source cgroup"],
  ];
  for (const [given, why] of cases) assertStringIncludes(await refuse(given, {}), why);
});

Deno.test("a sidecar is of one pod and its namespace, by a source that needs no right to nodes (C17)", async () => {
  const env = {
    PODFIT_POD: "shop/web-7d9c5-x2x4p",
    PODFIT_STATS_SOURCE: "cgroup",
    PODFIT_NODE: "n1",
    PODFIT_CGROUP_ROOT: "/c",
  };
  const pod = { namespace: "shop", name: "web-7d9c5-x2x4p" };
  const source = { statsSource: "cgroup", node: "n1", cgroupRoot: "/c" } as const;
  const leaderElection = { ...DEFAULTS.leaderElection, name: "podfit-sidecar" };
  assertEquals(await read([], env), { ...DEFAULTS, ...source, pod, namespaces: ["shop"], leaderElection });
  assertEquals((await read(["--namespace", "shop"], env)).namespaces, ["shop"]);
  const cases: readonly (readonly [string[], string])[] = [
    [["--namespace", "shop,other"], "Cannot use --namespace other with --pod shop/web-7d9c5-x2x4p: "],
    [["--pod", "web-1"], 'Cannot read --pod "web-1": write NAMESPACE/NAME of a pod'],
    [["--pod", "shop/web-1/main"], 'Cannot read --pod "shop/web-1/main": write NAMESPACE/NAME of a pod'],
    [["--pod", "Shop/web-1"], 'Cannot read --pod "Shop/web-1": write NAMESPACE/NAME of a pod'],
  ];
  for (const [args, why] of cases) assertStringIncludes(await refuse(args, env), why);
  assertStringIncludes(await refuse(["--pod", "a/b"], {}), "Cannot use --stats-source kubelet with --pod: it needs");
  const proxy = await refuse(["--pod", "a/b", "--stats-source", "proxy"], {});
  assertStringIncludes(proxy, "add --stats-source metrics-api, or --stats-source cgroup with --node and --cgroup-root");
  const cgroup = await refuse(["--pod", "a/b", "--stats-source", "cgroup", "--cgroup-root", "/c"], {});
  assertStringIncludes(cgroup, "Cannot use --stats-source cgroup without --node: ");
});

Deno.test("deploy/node-local.yaml starts podfit with the cgroups that it mounts (L61)", async () => {
  const manifest = await Deno.readTextFile(new URL("../../../deploy/node-local.yaml", import.meta.url));
  const { spec: { template } } = (parseAll(manifest) as Json[]).find(({ kind }) => kind === "DaemonSet");
  const [{ args, env, volumeMounts }] = template.spec.containers;
  const set = env.map((
    { name, value = name === "PODFIT_POD_UID" ? UID : "worker-1" }: { readonly name: string; readonly value?: string },
  ) => [name, value]);
  assertEquals(args[0], "run");
  const options = await read(args.slice(1), Object.fromEntries(set));
  assertEquals([options.statsSource, options.node, options.environment.isEnabled], ["cgroup", "worker-1", true]);
  const [{ name, mountPath, readOnly }] = volumeMounts;
  assertEquals([mountPath, readOnly], [options.cgroupRoot, true]);
  assertEquals(template.spec.volumes.find((one: { readonly name: string }) => one.name === name).hostPath, {
    path: "/sys/fs/cgroup",
    type: "Directory",
  });
});

Deno.test("run --help lists each flag with its variable and default, and the variables without a flag", () => {
  const [daemon] = createProgram(() => undefined, { run: doNothing }).commands;
  assert(daemon?.name() === "run");
  let text = "";
  daemon.configureHelp({ ...daemon.configureHelp(), helpWidth: 500 })
    .configureOutput({ writeOut: (part) => text += part }).outputHelp();
  for (const { flag, value, variable, fallback } of Object.values<FlagRow>(FLAGS)) {
    const line = text.split("\n  -").map((row) => `-${row.replaceAll(/\s+/g, " ")}`).find((row) =>
      row.startsWith(value === null ? `${flag} ` : `${flag} ${value} `)
    );
    assert(line !== undefined, flag);
    assert(line.includes(`env: ${variable})`), line);
    if (fallback !== undefined) assert(line.includes(`default: ${fallback}`), line);
  }
  for (const name of Object.keys(VARIABLES)) assert(text.includes(`\n  ${name}=`), name);
});

Deno.test("the demo's numbers have bounds, and its scenes two names", async () => {
  const got: unknown[] = [];
  const demo = (options: unknown) => {
    got.push(options);
    return Promise.resolve();
  };
  const start = (...args: readonly string[]) =>
    createProgram(() => undefined, { run: doNothing, commands: (context) => [createDemoCommand(context, demo)] })
      .exitOverride().parseAsync([...args], { from: "user" });
  await start("demo");
  await start("demo", "--keep", "--speed", "1.5", "--seconds=3600");
  await start("demo", "--scene", "both");
  const usual = { scene: "sizes", speed: 20, seconds: 60, keeps: false, color: "auto" };
  assertEquals(got, [usual, { ...usual, speed: 1.5, seconds: 3600, keeps: true, color: "auto" }, {
    ...usual,
    scene: "both",
  }]);
  for (const text of ["0", "61", "-1", "1e1", "fast", ""]) {
    const { message } = await assertRejects(() => start("demo", "--speed", text), CommanderError);
    assertEquals(message, `Cannot read --speed "${text}": write a number from 1 to 60`);
  }
  await assertRejects(() => start("demo", "--seconds", "3601"), CommanderError, "write a number from 1 to 3600");
  for (const text of ["", "size", "Both"]) {
    const { message } = await assertRejects(() => start("demo", "--scene", text), CommanderError);
    assertEquals(message, `Cannot read --scene "${text}": write sizes or both`);
  }
  assertEquals(got.length, 3);
});

async function read(args: readonly string[], env: Env): Promise<RunOptions> {
  const got: RunOptions[] = [];
  const run = (options: RunOptions) => {
    got.push(options);
    return Promise.resolve();
  };
  const program = createProgram((name) => env[name], {
    run,
  });
  await program.exitOverride().parseAsync(["run", ...args], { from: "user" });
  const [options] = got;
  assert(options !== undefined && got.length === 1);
  return options;
}

async function refuse(args: readonly string[], env: Env): Promise<string> {
  return (await assertRejects(() => read(args, env), StartError)).message;
}

function doNothing(): Promise<void> {
  return Promise.resolve();
}

Deno.test("limits of the operator are refused where they limit nothing, or everything", async () => {
  const cases: readonly (readonly [string, string])[] = [
    ["--min-poll-interval=15", "write a duration such as 15s"],
    ["--min-poll-interval=0s", "write a duration such as 15s"],
    ["--max-cpu=much", "write a quantity such as 8 or 500m"],
    ["--max-memory=0", "write a quantity such as 64Gi"],
    ["--max-unavailable=101%", "it must be a number of pods such as 2, or a percentage from 0% to 100%"],
    ["--max-contenders=0", "write a whole number from 1 to 1000"],
    ["--max-contenders=1.5", "write a whole number from 1 to 1000"],
  ];
  for (const [arg, words] of cases) {
    const { message } = await assertRejects(() => read([arg], {}), StartError);
    assertStringIncludes(message, words);
  }
});
