import { assert, assertEquals, assertRejects, assertThrows } from "#assert";
import { createExecCredential } from "../../../lib/kube/config/credential_sources.ts";
import type { ExecConfig } from "../../../lib/kube/config/kubeconfig.ts";
import { parseKubeconfig } from "../../../lib/kube/config/parse_kubeconfig.ts";
import type { GetCredential } from "../../../lib/kube/config/credential.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";

const API_VERSION = "client.authentication.k8s.io/v1";
const CONFIG = `
clusters:
- name: c
  cluster:
    server: https://10.0.0.1:6443
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: z}}]
`;

interface Plugin extends AsyncDisposable {
  readonly dir: string;
  readonly read: GetCredential;
  readonly time: { now: number };
}

interface PluginOptions {
  readonly exec?: Partial<ExecConfig>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A plugin that is a shell script; it finds its directory in $DIR. */
async function createPlugin(script: string, { exec = {}, timeoutMs, signal }: PluginOptions = {}): Promise<Plugin> {
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/plugin`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const time = { now: Date.parse("2030-01-01T00:00:00Z") };
  const cluster = parseKubeconfig({ path: "/c", text: CONFIG }).clusters.get("c");
  if (cluster === undefined) throw new Error("no cluster");
  const read = createExecCredential({
    name: "u",
    cluster,
    caPem: "CA",
    exec: {
      apiVersion: API_VERSION,
      command: `${dir}/plugin`,
      args: ["one", "two"],
      env: { DIR: dir },
      installHint: "install it with brew",
      provideClusterInfo: false,
      interactiveMode: "IfAvailable",
      ...exec,
    },
  }, {
    clock: { now: () => time.now, timeout: (ms) => systemClock.timeout(timeoutMs ?? ms) },
    signal: signal ?? new AbortController().signal,
  });
  return { dir, read, time, [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }) };
}

/** Shell: prints a credential with this status. */
function print(status: string, apiVersion = API_VERSION): string {
  return `echo '{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":${status}}'`;
}

/** Shell: the token is the number of the run. */
const COUNTING = `echo x >> $DIR/runs
echo "{\\"apiVersion\\":\\"${API_VERSION}\\",\\"kind\\":\\"ExecCredential\\",` +
  `\\"status\\":{\\"token\\":\\"run$(wc -l < $DIR/runs)\\",\\"expirationTimestamp\\":\\"2030-01-01T00:10:00Z\\"}}"`;

function bearer(token: string) {
  return { authorization: { kind: "bearer" as const, token }, clientCertificate: null };
}

Deno.test("createExecCredential() keeps a token until its expirationTimestamp", async () => {
  await using plugin = await createPlugin(COUNTING);
  assertEquals(await Promise.all([plugin.read(null), plugin.read(null)]), [bearer("run1"), bearer("run1")]);
  plugin.time.now += 599_999;
  assertEquals(await plugin.read(null), bearer("run1"));
  plugin.time.now += 1;
  assertEquals(await plugin.read(null), bearer("run2"));
});

Deno.test("createExecCredential() runs the plugin again when the server refused the token", async () => {
  await using plugin = await createPlugin(COUNTING);
  assertEquals(await plugin.read(await plugin.read(null)), bearer("run2"));
});

Deno.test("createExecCredential() reads a client certificate", async () => {
  await using plugin = await createPlugin(print(`{"clientCertificateData":"C","clientKeyData":"K"}`));
  assertEquals(await plugin.read(null), { authorization: null, clientCertificate: { cert: "C", key: "K" } });
});

for (const provideClusterInfo of [false, true]) {
  Deno.test(`createExecCredential() shows the plugin ${provideClusterInfo ? "the" : "no"} cluster`, async () => {
    const script = `echo "$1 $2 $KUBERNETES_EXEC_INFO" > $DIR/info\n${print(`{"token":"t"}`)}`;
    await using plugin = await createPlugin(script, { exec: { provideClusterInfo } });
    await plugin.read(null);
    const info = await Deno.readTextFile(`${plugin.dir}/info`);
    const cluster = {
      server: "https://10.0.0.1:6443",
      "certificate-authority-data": btoa("CA"),
      config: { audience: "z" },
    };
    assertEquals(info.slice(0, 8), "one two ");
    assertEquals(JSON.parse(info.slice(8)), {
      apiVersion: API_VERSION,
      kind: "ExecCredential",
      spec: { interactive: false, ...(provideClusterInfo ? { cluster } : {}) },
    });
  });
}

const failures: readonly [sentence: string, script: string, includes: string, exec?: Partial<ExecConfig>][] = [
  ["what it said when it fails", "echo no session >&2; exit 3", 'of user "u" from exec plugin'],
  ["the exit code and standard error", "echo no session >&2; exit 3", "exit code 3: no session"],
  ["the install hint when it is missing", "", "install it with brew", { command: "/nowhere/podfit-login" }],
  ["that it printed something else", "echo hello", "it printed no ExecCredential"],
  ["another apiVersion", print(`{"token":"t"}`, "client.authentication.k8s.io/v1beta1"), 'v1beta1" instead of'],
  ["an empty status", print("{}"), "neither a token nor"],
  ["a certificate without its key", print(`{"clientCertificateData":"C"}`), "neither a token nor"],
  [
    "a token that no header can hold",
    print(`{"token":"s3cret\\\\nb"}`),
    "an invalid token: it has a space, a line",
  ],
  ["an odd expiry", print(`{"token":"t","expirationTimestamp":"soon"}`), 'expirationTimestamp "soon"'],
];
for (const [sentence, script, includes, exec = {}] of failures) {
  Deno.test(`createExecCredential() reports ${sentence}`, async () => {
    await using plugin = await createPlugin(script, { exec });
    const error = await assertRejects(() => plugin.read(null), Error, includes);
    assert(!error.message.includes("s3cret"), error.message);
  });
}

Deno.test("createExecCredential() gives up a plugin that hangs, even when its child holds the output open", async () => {
  await using plugin = await createPlugin("sleep 5; exit", { timeoutMs: 20 });
  const startedAt = performance.now();
  await assertRejects(() => plugin.read(null), Error, "it did not end within 60 s");
  assert(performance.now() - startedAt < 4000, "waited for the plugin");
});

Deno.test("createExecCredential() ends a running plugin when the connection closes", async () => {
  const closing = new AbortController();
  await using plugin = await createPlugin("sleep 5", { signal: closing.signal });
  const startedAt = performance.now();
  const reading = plugin.read(null);
  closing.abort(new Error("closing"));
  await assertRejects(() => reading, Error, "closing");
  assert(performance.now() - startedAt < 4000, "waited for the plugin");
});

Deno.test("createExecCredential() accepts v1beta1", async () => {
  const apiVersion = "client.authentication.k8s.io/v1beta1";
  await using plugin = await createPlugin(print(`{"token":"t"}`, apiVersion), { exec: { apiVersion } });
  assertEquals(await plugin.read(null), bearer("t"));
});

const impossible: readonly [sentence: string, exec: Partial<ExecConfig>, includes: string][] = [
  ["a plugin that must be interactive", { interactiveMode: "Always" }, "podfit has no terminal"],
  ["v1alpha1", { apiVersion: "client.authentication.k8s.io/v1alpha1" }, "update the plugin"],
];
for (const [sentence, exec, includes] of impossible) {
  Deno.test(`createExecCredential() refuses ${sentence} at once`, () => {
    const cluster = parseKubeconfig({ path: "/c", text: CONFIG }).clusters.get("c");
    if (cluster === undefined) throw new Error("no cluster");
    const config: ExecConfig = {
      apiVersion: API_VERSION,
      command: "login",
      args: [],
      env: {},
      installHint: null,
      provideClusterInfo: false,
      interactiveMode: null,
      ...exec,
    };
    const options = { clock: systemClock, signal: new AbortController().signal };
    assertThrows(
      () => createExecCredential({ name: "u", cluster, caPem: null, exec: config }, options),
      Error,
      includes,
    );
  });
}
