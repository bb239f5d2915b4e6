/**
 * The cluster of KUBECONFIG as a backend: podfit is a child process, kubectl writes, and what scenarios read again and
 * again is read over one connection, because a kubectl of its own for each read would take the CPU from all that runs.
 */
import { connect } from "../../../lib/kube/http_transport.ts";
import { createTlsClient, trustNoRuntimeRoots } from "../../../lib/kube/https.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import {
  type Account,
  type AccountRef,
  type Backend,
  type Change,
  type LoadRef,
  type Manifest,
  type ObjectRef,
  type Process,
  type ProcessOptions,
  Refusal,
  type Reply,
  toHeaders,
  toPath,
  type Watching,
} from "./backend.ts";
import { mountCgroups } from "./cgroup_mount.ts";
import { kubectl, kubectlJson, tryKubectl } from "./kubectl.ts";
import { readLines } from "./lines.ts";
import { waitUntil } from "./wait.ts";

// Before Deno's own look for a newer Deno fills it with the public roots.
trustNoRuntimeRoots();

const ROOT = new URL("../../../", import.meta.url);
const CRDS = new URL("crds/", ROOT).pathname;
const STOP_MS = 15_000;
const TIMEOUT_MS = 30_000;

/** With the custom resource definition installed. */
export async function openRealCluster(): Promise<Backend> {
  await installDefinitions();
  const server = await connect({ version: "e2e", kubeconfigVariable: Deno.env.get("KUBECONFIG") ?? null });
  return {
    clock: systemClock,
    get: (path) => get(server, path),
    watch: (path) => watch(server, path),
    apply,
    patch,
    async delete(object) {
      await kubectl(["delete", "--raw", toPath(object)]).catch((error: unknown) => {
        if (!NOT_FOUND.test(String(error))) throw error;
      });
    },
    createNamespace: (name) => createNamespace(server, name),
    describe,
    async setLoad(pod, { cpuMillicores, memoryMiB }) {
      const query = new URLSearchParams();
      if (cpuMillicores !== undefined) query.set("cpu", String(cpuMillicores));
      if (memoryMiB !== undefined) query.set("mem", String(memoryMiB));
      await callLoad(server, { ...pod, path: `set?${query}` });
    },
    readLimits: async (pod) => JSON.parse(await callLoad(server, { ...pod, path: "limits" })),
    startPodfit,
    mountCgroups,
    connect: () => connect({ version: "test", kubeconfigVariable: Deno.env.get("KUBECONFIG") ?? null }),
    openAccount,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/**
 * Scenarios that begin at the same moment may all try to create it: those that come second try again. So do those that
 * find a definition without any condition yet, of which kubectl makes an error.
 */
async function installDefinitions(): Promise<void> {
  await waitUntil("the definitions to be installed", async () => {
    await kubectl(["apply", "-f", CRDS]);
    // Unlike apply, wait looks into folders too, and crds/schemas has no objects.
    await kubectl(["wait", "--for=condition=Established", "--timeout=30s", "--recursive=false", "-f", CRDS]);
    return true;
  }, { timeoutMs: 50_000, everyMs: 500, clock: systemClock });
}

/** A token of the account in files of its own: as it is, and as the user of the cluster of KUBECONFIG. */
async function openAccount({ namespace, name, pod }: AccountRef): Promise<Account> {
  const bound = pod === undefined ? [] : ["--bound-object-kind=Pod", `--bound-object-name=${pod}`];
  const token = (await kubectl(["create", "token", name, "-n", namespace, ...bound])).trim();
  const config = await kubectlJson<KubeconfigJson>(["config", "view", "--minify", "--raw", "--flatten"]);
  const users = config.users.map(({ name }) => ({ name, user: { token } }));
  const kubeconfig = await Deno.makeTempFile({ prefix: "podfit-e2e-", suffix: ".kubeconfig" });
  await Deno.writeTextFile(kubeconfig, JSON.stringify({ ...config, users }));
  const tokenFile = await Deno.makeTempFile({ prefix: "podfit-e2e-", suffix: ".token" });
  await Deno.writeTextFile(tokenFile, token);
  return {
    kubeconfig,
    tokenFile,
    async [Symbol.asyncDispose]() {
      await Deno.remove(kubeconfig);
      await Deno.remove(tokenFile);
    },
  };
}

interface KubeconfigJson {
  readonly users: readonly { readonly name: string }[];
}

const NOT_FOUND = /\(NotFound\)/;

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function fetchText({ origin, transport }: ApiServer, path: string): Promise<Answer> {
  using timeout = systemClock.timeout(TIMEOUT_MS);
  const response = await transport(new Request(origin + path, { signal: timeout.signal }));
  return { status: response.status, body: await response.text() };
}

/** A definition that another scenario puts back has its storage reopened, and until then the server answers 429. */
async function get(server: ApiServer, path: string): Promise<string | null> {
  let { status, body } = await fetchText(server, path);
  for (let tries = 1; status === 429 && tries <= 30; tries++) {
    await systemClock.sleep(1000);
    ({ status, body } = await fetchText(server, path));
  }
  if (status === 200) return body;
  if (status === 404) return null;
  throw new Error(`Cannot get "${path}": ${status} ${body.slice(0, 500)}`);
}

function watch({ origin, transport }: ApiServer, path: string): Watching {
  const ending = new AbortController();
  return {
    lines: readWatch(transport(new Request(origin + path, { signal: ending.signal })), ending.signal),
    [Symbol.asyncDispose]: () => Promise.resolve(ending.abort()),
  };
}

/** Ends without an error when it is disposed of. */
async function* readWatch(answer: Promise<Response>, signal: AbortSignal): AsyncGenerator<string> {
  try {
    const { body } = await answer;
    if (body !== null) yield* readLines(body);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function apply(namespace: string, manifests: readonly Manifest[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests });
  // Without kubectl's own check, so that it is the server that refuses.
  const { code, stderr } = await tryKubectl(["apply", "-n", namespace, "--validate=false", "-f", "-"], { input });
  if (code !== 0) throw new Refusal(stderr.trim());
}

async function patch({ kind, namespace, name }: ObjectRef, { type, subresource, patch }: Change): Promise<void> {
  const options = [`--type=${type}`, ...(subresource === undefined ? [] : [`--subresource=${subresource}`])];
  const object = `${kind.toLowerCase()}/${name}`;
  const args = ["patch", object, "-n", namespace, ...options, "-p", JSON.stringify(patch)];
  const { code, stderr } = await tryKubectl(args);
  if (code !== 0) throw new Refusal(stderr.trim());
}

async function createNamespace(server: ApiServer, name: string): Promise<void> {
  await kubectl(["create", "namespace", name]);
  await waitUntil(`the service account of namespace "${name}"`, () => {
    return get(server, toPath({ kind: "ServiceAccount", namespace: name, name: "default" }));
  }, { timeoutMs: 20_000, everyMs: 100, clock: systemClock });
}

async function describe(namespace: string): Promise<string> {
  const [objects, events] = await Promise.all([
    tryKubectl(["get", "pods,deployments,statefulsets,daemonsets", "-n", namespace, "-o", "wide"]),
    tryKubectl(["get", "events", "-n", namespace, "--sort-by=.lastTimestamp"]),
  ]);
  const autoscalers = await tryKubectl(["get", "podresourceautoscalers.keda.kedify.io", "-n", namespace, "-o", "yaml"]);
  const sections = [objects.stdout, autoscalers.stdout.slice(0, 6000), events.stdout.slice(-6000)];
  return sections.map((section) => section.trim()).filter((section) => section !== "").join("\n---\n");
}

/** Through the API server. A container that has just started may not listen yet: only that is tried again. */
async function callLoad(
  server: ApiServer,
  { namespace, name, port, path }: LoadRef & { readonly path: string },
): Promise<string> {
  const address = `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy/${path}`;
  const { status, body } = await waitUntil(`the load at "${address}" to listen`, async () => {
    const answer = await fetchText(server, address);
    if (answer.body.includes("connection refused")) throw new Error(answer.body.trim());
    return answer;
  }, { timeoutMs: 10_000, everyMs: 100, clock: systemClock });
  if (status !== 200) throw new Error(`Cannot call the load at "${address}": ${status} ${body.slice(0, 500)}`);
  return body;
}

function startPodfit({ args, env, onLine }: ProcessOptions): Process {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-P=start", "main.ts", "run", ...args],
    cwd: ROOT,
    clearEnv: true,
    env: { ...inheritedEnv(), ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let status: Deno.CommandStatus | null = null;
  const ended = Promise.all([child.status.then((ended) => status = ended), read(child.stderr, onLine)]);
  return {
    ended: () => status === null ? null : describeStatus(status),
    async get(address, path) {
      using timeout = systemClock.timeout(10_000);
      const response = await fetch(`http://${address}${path}`, { signal: timeout.signal });
      const body = await response.text();
      if (!response.ok) throw new Error(`Cannot get "${path}" of podfit: ${response.status} ${body.slice(0, 500)}`);
      return body;
    },
    async ask(address, question) {
      const { path, caCert } = question;
      using timeout = systemClock.timeout(10_000);
      const options = { headers: toHeaders(question), signal: timeout.signal };
      if (caCert === undefined) return await toReply(fetch(`http://${address}${path}`, options));
      using client = createTlsClient({ caCerts: [caCert], certificate: null });
      return await toReply(fetch(`https://${address}${path}`, { ...options, client }));
    },
    async end(signal) {
      if (status === null) child.kill(signal);
      using late = systemClock.timeout(STOP_MS);
      late.signal.addEventListener("abort", () => child.kill("SIGKILL"));
      const [{ code }] = await ended;
      return late.signal.aborted ? null : code;
    },
  };
}

async function toReply(answered: Promise<Response>): Promise<Reply> {
  const response = await answered;
  return { status: response.status, body: await response.text() };
}

async function read(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  for await (const line of readLines(stream)) onLine(line);
}

function describeStatus({ code, signal }: Deno.CommandStatus): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

function inheritedEnv(): Record<string, string> {
  const inherited = Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("PRA_"));
  return { ...Object.fromEntries(inherited), DENO_NO_UPDATE_CHECK: "1" };
}
