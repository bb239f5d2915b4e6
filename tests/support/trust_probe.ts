// deno-lint-ignore-file no-console
/**
 * A process of its own that asks one server over each path of podfit, and prints what came of it: which roots a process
 * trusts is decided once in its life. Arguments: the order of the paths, the server's origin, the file of the given CA.
 */
import { HttpTransport } from "../../lib/kube/http_transport.ts";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { systemClock } from "../../lib/runtime/clock.ts";
import { openDirectSource } from "../../lib/usage/kubelet/fetch_summary.ts";

const [paths = "", origin = "", caFile = ""] = Deno.args;
const TOKEN = "a-token-of-podfit";
const ENVIRONMENT = ["DENO_TLS_CA_STORE", "DENO_CERT", "NODE_EXTRA_CA_CERTS"];

const credential = { authorization: { kind: "bearer", token: TOKEN }, clientCertificate: null } as const;

async function askApi(caCerts: readonly string[]): Promise<string> {
  using http = new HttpTransport({
    source: "a test",
    origin,
    namespace: "default",
    caCerts,
    proxyUrl: null,
    getCredential: () => Promise.resolve(credential),
  }, { userAgent: "podfit/test" });
  return await (await http.send(new Request(`${origin}/version`))).text();
}

async function askKubelet(caCerts: readonly string[]): Promise<string> {
  const server: ApiServer = {
    origin,
    caCerts,
    transport: () => Promise.reject(new Error("not this way")),
    getCredential: () => Promise.resolve(credential),
    namespace: "default",
    source: "a test",
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const { hostname: address, port } = new URL(origin);
  using source = openDirectSource(server, { clock: systemClock });
  const answer = await source.fetchSummary({
    name: "n",
    addresses: [{ type: "InternalIP", address }],
    port: Number(port),
    maxPods: null,
  }, AbortSignal.timeout(10_000));
  return answer.kind === "failed" ? answer.message : "ok";
}

const given = caFile === "" ? [] : [await Deno.readTextFile(caFile)];
const ask: Readonly<Record<string, () => Promise<string>>> = {
  api: () => askApi(given),
  kubelet: () => askKubelet(given),
  public: () => askApi([]),
  environment: () => Promise.resolve(ENVIRONMENT.map((name) => `${name}=${Deno.env.get(name)}`).join(" ")),
  fetch: () => fetch(origin).then((response) => response.text()),
};
const answers: string[] = [];
for (const path of paths.split(",")) {
  answers.push(await (ask[path]?.() ?? Promise.reject(new Error(`no path "${path}"`))).catch(({ message }) => message));
}
console.log(JSON.stringify(answers));
