import { assertEquals, assertStringIncludes, assertThrows } from "#assert";
import { stringify } from "../../../lib/runtime/yaml.ts";
import { getContext, type KubeContext, mergeKubeconfigs, type User } from "../../../lib/kube/config/kubeconfig.ts";
import { parseKubeconfig } from "../../../lib/kube/config/parse_kubeconfig.ts";

type Fields = Record<string, unknown>;

/** One context "dev" of cluster "c" and user "u", with the given fields. */
function toYaml({ cluster = {}, user = {}, context = {} }: { cluster?: Fields; user?: Fields; context?: Fields }) {
  return stringify({
    "current-context": "dev",
    clusters: [{ name: "c", cluster: { server: "https://10.0.0.1:6443", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "dev", context: { cluster: "c", user: "u", ...context } }],
  });
}

function readOne(fields: Parameters<typeof toYaml>[0], name: string | null = null): KubeContext {
  return getContext(parseKubeconfig({ path: "/home/a/config", text: toYaml(fields) }), name);
}

Deno.test("getContext() reads server, namespace and source of the current context", () => {
  const { cluster: _, ...context } = readOne({ context: { namespace: "shop" }, user: { token: "t" } });
  assertEquals(context, {
    source: '/home/a/config (context "dev")',
    namespace: "shop",
    origin: "https://10.0.0.1:6443",
    certificateAuthority: null,
    proxyUrl: null,
    user: { kind: "given", authorization: { kind: "token", token: "t" }, certificate: null },
  });
});

const servers: readonly [sentence: string, cluster: Fields, origin: string][] = [
  ["drops a trailing slash", { server: "https://a.example:6443/" }, "https://a.example:6443"],
  ["keeps a path", { server: "https://a.example/k8s/clusters/c-1/" }, "https://a.example/k8s/clusters/c-1"],
  ["keeps the brackets of IPv6", { server: "https://[fd00::1]:6443" }, "https://[fd00::1]:6443"],
  ["accepts http", { server: "http://127.0.0.1:8001", "insecure-skip-tls-verify": true }, "http://127.0.0.1:8001"],
  ["accepts a tls-server-name that is the host", { "tls-server-name": "10.0.0.1" }, "https://10.0.0.1:6443"],
];
for (const [sentence, cluster, origin] of servers) {
  Deno.test(`getContext() ${sentence}`, () => assertEquals(readOne({ cluster }).origin, origin));
}

const users: readonly [sentence: string, user: Fields, expected: Partial<Extract<User, { kind: "given" }>>][] = [
  ["is anonymous without fields", {}, {}],
  ["prefers tokenFile to token", { token: "t", tokenFile: "/t" }, {
    authorization: { kind: "tokenFile", path: "/t" },
  }],
  ["resolves tokenFile beside the file", { tokenFile: "x/t" }, {
    authorization: { kind: "tokenFile", path: "/home/a/x/t" },
  }],
  ["reads a username", { username: "a", password: "b" }, {
    authorization: { kind: "basic", username: "a", password: "b" },
  }],
  ["resolves certificates beside the file", { "client-certificate": "c.crt", "client-key": "../c.key" }, {
    certificate: { cert: { kind: "file", path: "/home/a/c.crt" }, key: { kind: "file", path: "/home/c.key" } },
  }],
  ["prefers data to files", { "client-certificate": "c", "client-certificate-data": btoa("C"), "client-key": "/k" }, {
    certificate: { cert: { kind: "inline", pem: "C" }, key: { kind: "file", path: "/k" } },
  }],
];
for (const [sentence, user, expected] of users) {
  Deno.test(`getContext() ${sentence}`, () => {
    assertEquals(readOne({ user }).user, { kind: "given", authorization: null, certificate: null, ...expected });
  });
}

Deno.test("getContext() reads an exec plugin and resolves a command with a slash beside the file", () => {
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "bin/login",
    args: ["-x"],
    env: [{ name: "A", value: "b" }],
    provideClusterInfo: true,
    interactiveMode: "Never",
  };
  const extensions = [{ name: "client.authentication.k8s.io/exec", extension: { audience: "z" } }];
  const { user, cluster } = readOne({ user: { exec }, cluster: { extensions } });
  assertEquals(cluster.execConfig, { audience: "z" });
  assertEquals(user, {
    kind: "exec",
    name: "u",
    exec: { ...exec, command: "/home/a/bin/login", env: { A: "b" }, installHint: null },
  });
});

const refused: readonly [sentence: string, fields: Parameters<typeof toYaml>[0], includes: string][] = [
  ["insecure-skip-tls-verify", { cluster: { "insecure-skip-tls-verify": true } }, "--certificate-authority=<file>"],
  ["another tls-server-name", { cluster: { "tls-server-name": "kube" } }, 'cluster "c" has tls-server-name "kube"'],
  ["a cluster without a server", { cluster: { server: "" } }, "has no server"],
  ["a server without a scheme", { cluster: { server: "10.0.0.1:6443" } }, 'server "10.0.0.1:6443": it must be a URL'],
  ["an odd proxy-url", { cluster: { "proxy-url": "ftp://x" } }, "proxy-url"],
  ["auth-provider", { user: { "auth-provider": { name: "oidc" } } }, 'has auth-provider "oidc"'],
  ["impersonation", { user: { as: "root" } }, 'has as "root"'],
  ["a certificate without its key", { user: { "client-certificate": "c" } }, "client-certificate without client-key"],
  ["a token and a username", { user: { token: "t", username: "a" } }, "both a token and a username"],
  ["exec and a token", { user: { token: "t", exec: { command: "x" } } }, "exec and another credential"],
  ["an undefined user", { context: { user: "bob" } }, 'user "bob" is not defined; see `kubectl config get-contexts`'],
  ["an undefined cluster", { context: { cluster: "z" } }, 'cluster "z" is not defined; see `kubectl config'],
];
for (const [sentence, fields, includes] of refused) {
  Deno.test(`getContext() refuses ${sentence} and says what to do`, () => {
    const error = assertThrows(() => readOne(fields), Error, includes);
    assertStringIncludes(error.message, 'Cannot use context "dev" of kubeconfig "/home/a/config": ');
  });
}

Deno.test("getContext() names the contexts there are when the wanted one is missing", () => {
  assertThrows(
    () => readOne({}, "prod"),
    Error,
    'Cannot use context "prod" of kubeconfig "/home/a/config": no such context among "dev"; see `kubectl config',
  );
});

Deno.test("getContext() asks for a context when none is current", () => {
  const empty = parseKubeconfig({ path: "/e", text: "" });
  assertThrows(() => getContext(empty, null), Error, 'of kubeconfig "/e": current-context is not set');
});

const malformed: readonly [sentence: string, text: string, message: string][] = [
  ["a list instead of an object", "[]", "the document must be an object"],
  ["clusters that are no list", "clusters: {}", "clusters must be a list"],
  ["a number as token", "users: [{name: u, user: {token: 123}}]", "users[0].user.token must be a string"],
  ["data that is no base64", 'users: [{name: u, user: {client-key-data: "%"}}]', "client-key-data is not base64"],
  ["an entry without a name", "contexts: [{context: {}}]", "contexts[0] has no name"],
  ["a name twice", "contexts: [{name: a}, {name: a}]", 'contexts has "a" twice'],
  ["exec without a command", "users: [{name: u, user: {exec: {}}}]", "users[0].user.exec has no command"],
];
for (const [sentence, text, message] of malformed) {
  Deno.test(`parseKubeconfig() rejects ${sentence}`, () => {
    const error = assertThrows(() => parseKubeconfig({ path: "/c", text }), Error, message);
    assertStringIncludes(error.message, 'Cannot parse kubeconfig "/c": ');
  });
}

Deno.test("parseKubeconfig() does not repeat a secret when the YAML is broken", () => {
  const text = "users:\n- name: u\n  user: {token: s3cret, token: s3cret}\n";
  const error = assertThrows(() => parseKubeconfig({ path: "/c", text }), Error, 'Cannot parse kubeconfig "/c": ');
  assertEquals([error.message.includes("s3cret"), error.cause], [false, undefined]);
});

Deno.test("mergeKubeconfigs() takes every name from the first file that has it", () => {
  const first = parseKubeconfig({
    path: "/1/c",
    text: toYaml({ user: { tokenFile: "t" }, context: { namespace: "one" } }),
  });
  const second = parseKubeconfig({
    path: "/2/c",
    text: stringify({
      "current-context": "other",
      clusters: [{ name: "c", cluster: { server: "https://wrong.example" } }],
      users: [{ name: "u", user: { token: "wrong" } }, { name: "v", user: { tokenFile: "t" } }],
      contexts: [{ name: "dev", context: { namespace: "wrong" } }, {
        name: "other",
        context: { cluster: "c", user: "v" },
      }],
    }),
  });
  const merged = mergeKubeconfigs([first, second]);
  const tokenFiles = [null, "other"].map((name) => {
    const { origin, namespace, source, user } = getContext(merged, name);
    return [origin, namespace, source, user.kind === "given" ? user.authorization : null];
  });
  assertEquals(tokenFiles, [
    ["https://10.0.0.1:6443", "one", '/1/c (context "dev")', { kind: "tokenFile", path: "/1/t" }],
    ["https://10.0.0.1:6443", "default", '/2/c (context "other")', { kind: "tokenFile", path: "/2/t" }],
  ]);
});

Deno.test("mergeKubeconfigs() takes the current context of a later file when the first has none", () => {
  const first = parseKubeconfig({ path: "/1", text: 'current-context: ""' });
  const second = parseKubeconfig({ path: "/2", text: toYaml({}) });
  assertEquals(mergeKubeconfigs([first, second]).currentContext, "dev");
});
