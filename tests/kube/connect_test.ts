import { assertEquals, assertRejects } from "#assert";
import { stringify } from "../../lib/runtime/yaml.ts";
import { connect, type ConnectOptions } from "../../lib/kube/http_transport.ts";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { readTls, serveMutualTls, serveTls, TLS_DIR } from "../support/tls.ts";

async function readToken({ getCredential }: ApiServer): Promise<string | null> {
  const { authorization } = await getCredential(null);
  return authorization?.kind === "bearer" ? authorization.token : null;
}

interface Workspace extends AsyncDisposable {
  readonly dir: string;
  /** Writes a kubeconfig with one context, called as the file, and gives its path. */
  write(name: string, fields: { server: string; user?: unknown; cluster?: unknown }): Promise<string>;
}

async function createWorkspace(): Promise<Workspace> {
  const dir = await Deno.makeTempDir();
  return {
    dir,
    async write(name, { server, user = {}, cluster = {} }) {
      const path = `${dir}/${name}`;
      const config = {
        "current-context": name,
        clusters: [{
          name,
          cluster: { server, "certificate-authority": `${TLS_DIR}ca.crt`, ...cluster as object },
        }],
        users: [{ name, user }],
        contexts: [{ name, context: { cluster: name, user: name, namespace: `in-${name}` } }],
      };
      await Deno.writeTextFile(path, stringify(config));
      return path;
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

const SERVER = "https://10.0.0.1:6443";

/** Which configuration wins: the files "flag", "list" and "home" exist, and a service account. */
const choices: readonly [sentence: string, choose: (dir: string) => Partial<ConnectOptions>, namespace: string][] = [
  ["--kubeconfig first", (dir) => ({ kubeconfigPaths: [`${dir}/flag`] }), "in-flag"],
  ["KUBECONFIG before the service account", () => ({}), "in-list"],
  ["the service account before the default file", () => ({ kubeconfigVariable: null }), "in-cluster"],
  ["the default file outside a cluster", () => ({ kubeconfigVariable: "", inCluster: null }), "in-home"],
  ["a named context of the default file", () => ({ kubeconfigVariable: "", context: "home" }), "in-home"],
  [
    "a named context of a later file",
    (dir) => ({ kubeconfigVariable: `${dir}/list:${dir}/flag`, context: "flag" }),
    "in-flag",
  ],
  ["the first file of KUBECONFIG that exists", (dir) => ({ kubeconfigVariable: `${dir}/no::${dir}/flag` }), "in-flag"],
];
for (const [sentence, choose, namespace] of choices) {
  Deno.test(`connect() takes ${sentence}`, async () => {
    await using workspace = await createWorkspace();
    const { dir } = workspace;
    for (const name of ["flag", "list", "home"]) await workspace.write(name, { server: SERVER });
    const account = { "ca.crt": readTls("ca.crt"), token: "t", namespace: "in-cluster" };
    for (const [name, text] of Object.entries(account)) await Deno.writeTextFile(`${dir}/${name}`, text);
    await using server = await connect({
      version: "1.2.3",
      kubeconfigVariable: `${dir}/list`,
      inCluster: { host: "10.96.0.1", port: "443", root: dir },
      defaultPath: `${dir}/home`,
      ...choose(dir),
    });
    assertEquals(server.namespace, namespace);
  });
}

const missing: readonly [sentence: string, options: Partial<ConnectOptions>, includes: string][] = [
  ["nothing is configured", {}, "Cannot find a cluster"],
  ["no file of KUBECONFIG exists", { kubeconfigVariable: "/no/a:/no/b" }, 'kubeconfig "/no/a", "/no/b": no such file'],
  ["a file of --kubeconfig is missing", { kubeconfigPaths: ["/no/a"] }, 'kubeconfig "/no/a": no such file'],
  ["the default file is missing", { defaultPath: "/no/home" }, "kubectl config get-contexts"],
  ["the kubeconfig is a directory", { kubeconfigPaths: ["/"] }, 'Cannot read kubeconfig "/": Is a directory'],
];
for (const [sentence, options, includes] of missing) {
  Deno.test(`connect() says what is missing when ${sentence}`, async () => {
    await assertRejects(() => connect({ version: "1.2.3", ...options }), Error, includes);
  });
}

const unusable: readonly [sentence: string, fields: { user?: unknown; cluster?: unknown }, includes: string][] = [
  ["the CA file is missing", { cluster: { "certificate-authority": "no" } }, 'Cannot read certificate authority "'],
  [
    "the CA is no PEM",
    { cluster: { "certificate-authority-data": btoa("x") } },
    "certificate authority data: it holds no",
  ],
  ["the token file is missing", { user: { tokenFile: "no" } }, 'Cannot read token file "'],
  ["the key is a certificate", {
    user: { "client-certificate": `${TLS_DIR}client.crt`, "client-key": `${TLS_DIR}client.crt` },
  }, "Cannot use the certificates of"],
  ["the exec plugin fails", {
    user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "/nowhere/login" } },
  }, 'from exec plugin "/nowhere/login": not found'],
];
for (const [sentence, fields, includes] of unusable) {
  Deno.test(`connect() fails at once when ${sentence}`, async () => {
    await using workspace = await createWorkspace();
    const path = await workspace.write("dev", { server: SERVER, ...fields });
    await assertRejects(() => connect({ version: "1.2.3", kubeconfigPaths: [path] }), Error, includes);
  });
}

const credentials: readonly [sentence: string, user: unknown, authorization: string | null, token: string | null][] = [
  ["a token", { token: "t" }, "Bearer t", "t"],
  ["a username and password", { username: "a", password: "b" }, "Basic YTpi", null],
  ["nothing as anonymous", {}, null, null],
];
for (const [sentence, user, authorization, token] of credentials) {
  Deno.test(`connect() sends ${sentence} and its own name to a server of the cluster's CA`, async () => {
    await using workspace = await createWorkspace();
    await using tls = serveTls(({ headers }) =>
      Response.json([headers.get("Authorization"), headers.get("User-Agent"), headers.get("Accept")])
    );
    const path = await workspace.write("dev", { server: tls.origin, user });
    await using server = await connect({ version: "1.2.3", kubeconfigPaths: [path] });
    const request = new Request(`${server.origin}/version`, { headers: { Accept: "application/json" } });
    const seen = await (await server.transport(request)).json();
    assertEquals(seen, [authorization, "podfit/1.2.3", "application/json"]);
    assertEquals(await readToken(server), token);
    assertEquals(server.source, `${path} (context "dev")`);
    assertEquals(server.caCerts, [readTls("ca.crt")]);
  });
}

Deno.test("connect() trusts every certificate of a CA bundle", async () => {
  await using workspace = await createWorkspace();
  await using tls = serveTls(() => new Response("ok"));
  const bundle = btoa(`# two authorities\n${readTls("other-ca.crt")}${readTls("ca.crt")}`);
  const path = await workspace.write("dev", { server: tls.origin, cluster: { "certificate-authority-data": bundle } });
  await using server = await connect({ version: "1.2.3", kubeconfigPaths: [path] });
  assertEquals(await (await server.transport(new Request(server.origin))).text(), "ok");
});

Deno.test("connect() shows the client certificate of the user", async () => {
  await using workspace = await createWorkspace();
  await using tls = await serveMutualTls();
  const pair = { "client-certificate": `${TLS_DIR}client.crt`, "client-key": `${TLS_DIR}client.key` };
  const path = await workspace.write("dev", { server: tls.origin, user: pair });
  await using server = await connect({ version: "1.2.3", kubeconfigPaths: [path] });
  assertEquals(await (await server.transport(new Request(server.origin))).text(), "alice");
  assertEquals(await server.getCredential(null), {
    authorization: null,
    clientCertificate: { cert: readTls("client.crt"), key: readTls("client.key") },
  });
});

Deno.test("connect() replaces the token of a rotated file after a 401 and sends the same request again", async () => {
  await using workspace = await createWorkspace();
  await Deno.writeTextFile(`${workspace.dir}/token`, "old");
  const seen: string[] = [];
  await using tls = serveTls(async (request) => {
    const authorization = request.headers.get("Authorization");
    seen.push(`${request.method} ${authorization} ${await request.text()}`);
    return new Response("words", { status: authorization === "Bearer new" ? 200 : 401 });
  });
  const path = await workspace.write("dev", { server: tls.origin, user: { tokenFile: "token" } });
  await using server = await connect({ version: "1.2.3", kubeconfigPaths: [path] });
  await Deno.writeTextFile(`${workspace.dir}/token`, "new\n");
  const response = await server.transport(new Request(server.origin, { method: "PATCH", body: "{}" }));
  assertEquals([response.status, await response.text()], [200, "words"]);
  assertEquals(seen, ["PATCH Bearer old {}", "PATCH Bearer new {}"]);
  assertEquals(await readToken(server), "new");
});

Deno.test("connect() hands on a 401 when there is no other credential", async () => {
  await using workspace = await createWorkspace();
  let requests = 0;
  await using tls = serveTls(() => new Response(`refused ${++requests}`, { status: 401 }));
  const path = await workspace.write("dev", { server: tls.origin, user: { token: "t" } });
  await using server = await connect({ version: "1.2.3", kubeconfigPaths: [path] });
  const response = await server.transport(new Request(server.origin));
  assertEquals([response.status, await response.text()], [401, "refused 1"]);
});

Deno.test("connect() asks the exec plugin again after a 401, once", async () => {
  await using workspace = await createWorkspace();
  const script = `#!/bin/sh
echo x >> ${workspace.dir}/runs
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"run'$(wc -l < ${workspace.dir}/runs)'"}}'
`;
  await Deno.writeTextFile(`${workspace.dir}/login`, script, { mode: 0o755 });
  await using tls = serveTls(({ headers }) => new Response(headers.get("Authorization"), { status: 401 }));
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./login", interactiveMode: "Never" };
  const path = await workspace.write("dev", { server: tls.origin, user: { exec } });
  await using server = await connect({ version: "1.2.3", kubeconfigPaths: [path] });
  assertEquals(await (await server.transport(new Request(server.origin))).text(), "Bearer run2");
});
