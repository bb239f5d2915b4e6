/**
 * Who may read podfit's metrics, where the API server is asked: a right to the path admits, another user is named, who is
 * nobody is told to send a token (C52). Over HTTPS where the backend has sockets.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { createIssued, mountCertificate } from "../support/certificate_files.ts";
import { createAccount } from "./support/accounts_of_podfit.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, deleteObject, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { startPodfit } from "./support/podfit.ts";
import type { Manifest } from "./support/workloads.ts";

const REVIEWS = [
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];
const READING = [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }];

scenario("C52 --metrics-auth gives the metrics to whose right it is, over HTTPS, and health to everybody", {
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => text);
    await using _reviews = await grant(namespace, { account: namespace, name: "reviews", rules: REVIEWS });
    await applyManifests(namespace, ["reader", "other"].map(toServiceAccount));
    await using _reading = await grant(namespace, { account: "reader", name: "reading", rules: READING });
    const issued = await createIssued("podfit");
    await using files = await mountCertificate(issued);
    const { certPath, keyPath } = files;
    const args = ["--metrics-auth", "--tls-cert-file", certPath, "--tls-private-key-file", keyPath, ...account.args];
    await using podfit = await startPodfit({ namespaces: [namespace], args, untilReady: false });
    const ask = (path: string, token?: string) =>
      podfit.ask({ path, caCert: issued.caCert, ...(token === undefined ? {} : { token }) });
    await waitFor("podfit to be ready", async () => (await ask("/readyz")).status === 200, { timeoutMs: 30_000 });
    const [reader, other] = [await createToken(namespace, "reader"), await createToken(namespace, "other")];
    // A right is good a moment after it is granted, and a refusal is kept for a while.
    await waitFor("the reader to be admitted", async () => (await ask("/metrics", reader)).status === 200, {
      timeoutMs: 60_000,
      everyMs: 1_000,
    });
    assertStringIncludes((await ask("/metrics", reader)).body, "kedify_agent_pra_");
    const user = `system:serviceaccount:${namespace}:other`;
    const denied =
      `Forbidden: user "${user}" may not read this; grant the verb "get" on the nonResourceURL "/metrics"\n`;
    assertEquals(await ask("/metrics", other), { status: 403, body: denied });
    for (const token of [undefined, "nobodys", `${reader.slice(0, -4)}AAAA`]) {
      assertEquals((await ask("/metrics", token)).status, 401, token);
    }
    for (const path of ["/", "/healthz", "/readyz"]) assertEquals((await ask(path)).status, 200, path);
    assertEquals(podfit.lines.filter((line) => line.includes(reader) || line.includes(other)), []);
    await podfit.stop();
  },
});

scenario("C52 C54 --metrics-auth without the right to ask names it, in the log and to the reader", {
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => text);
    await applyManifests(namespace, [toServiceAccount("reader")]);
    await using podfit = await startPodfit({ namespaces: [namespace], args: ["--metrics-auth", ...account.args] });
    const token = await createToken(namespace, "reader");
    const { status, body } = await podfit.ask({ path: "/metrics", token });
    const why = /podfit's account lacks the right to "create" tokenreviews\.authentication\.k8s\.io, which is needed /;
    assertMatch(body, why);
    assertEquals(status, 500);
    // The answer may be here before the line, which comes by a pipe.
    const line = await waitFor("the log to say it", () => {
      return Promise.resolve(podfit.log("Cannot check who may read /metrics")[0]);
    }, { timeoutMs: 10_000 });
    assertEquals(line.level, "ERROR");
    assertMatch(String(line.why), why);
    assert(podfit.log().every((one) => !JSON.stringify(one).includes(token)));
    await podfit.stop();
  },
});

function toServiceAccount(name: string): Manifest {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } };
}

interface Grant {
  readonly account: string;
  readonly name: string;
  readonly rules: readonly unknown[];
}

/** To an account of the namespace, for the whole cluster, until it is disposed of. */
async function grant(namespace: string, { account, name, rules }: Grant): Promise<AsyncDisposable> {
  const role = `${namespace}-${name}`;
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: role } };
  await applyManifests(namespace, [
    { ...rbac, kind: "ClusterRole", rules },
    {
      ...rbac,
      kind: "ClusterRoleBinding",
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", namespace, name: account }],
    },
  ]);
  return {
    async [Symbol.asyncDispose]() {
      await deleteObject(namespace, `ClusterRole/${role}`);
      await deleteObject(namespace, `ClusterRoleBinding/${role}`);
    },
  };
}

/** A token of the account, good for an hour. */
async function createToken(namespace: string, account: string): Promise<string> {
  await using server = await backend().connect();
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
  const response = await server.transport(
    new Request(`${server.origin}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    }),
  );
  const { status } = await response.json();
  return String(status?.token);
}
