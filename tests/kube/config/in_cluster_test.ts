import { assertEquals, assertRejects } from "#assert";
import { loadInCluster } from "../../../lib/kube/config/load.ts";
import { readTls } from "../../support/tls.ts";

async function createAccount(files: Readonly<Record<string, string>>): Promise<{ root: string } & AsyncDisposable> {
  const root = await Deno.makeTempDir();
  const all = { "ca.crt": readTls("ca.crt"), token: "one\n", namespace: "podfit\n", ...files };
  for (const [name, text] of Object.entries(all)) {
    if (text !== "") await Deno.writeTextFile(`${root}/${name}`, text);
  }
  return { root, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

function bearer(token: string) {
  return { authorization: { kind: "bearer" as const, token }, clientCertificate: null };
}

Deno.test("loadInCluster() reads CA, namespace and address", async () => {
  await using account = await createAccount({});
  const options = { host: "10.96.0.1", port: "443", root: account.root };
  const { getCredential: _, getCaCerts: __, ...config } = await loadInCluster(options, { now: () => 0 });
  assertEquals(config, {
    source: "in-cluster",
    origin: "https://10.96.0.1:443",
    namespace: "podfit",
    caCerts: [readTls("ca.crt")],
    proxyUrl: null,
  });
});

Deno.test("loadInCluster() brackets an IPv6 host and falls back to the namespace default", async () => {
  await using account = await createAccount({ namespace: "" });
  const { origin, namespace } = await loadInCluster(
    { host: "fd00::1", port: "443", root: account.root },
    { now: () => 0 },
  );
  assertEquals([origin, namespace], ["https://[fd00::1]:443", "default"]);
});

Deno.test("loadInCluster() reads the token again after 60 s, and at once when it was refused", async () => {
  await using account = await createAccount({});
  const time = { now: 0 };
  const options = { host: "10.96.0.1", port: "443", root: account.root };
  const { getCredential } = await loadInCluster(options, { now: () => time.now });
  await Deno.writeTextFile(`${account.root}/token`, "two");
  time.now = 59_999;
  assertEquals(await getCredential(null), bearer("one"));
  time.now = 60_000;
  assertEquals(await getCredential(null), bearer("two"));
  await Deno.writeTextFile(`${account.root}/token`, "three");
  assertEquals(await getCredential(bearer("two")), bearer("three"));
});

const broken: readonly [sentence: string, files: Record<string, string>, includes: string][] = [
  ["there is no token", { token: "" }, "automountServiceAccountToken"],
  ["the token is empty", { token: "\n" }, "it is empty"],
  ["there is no CA", { "ca.crt": "" }, "Cannot read certificate authority"],
  ["the CA is no PEM", { "ca.crt": "hello" }, "it holds no PEM block"],
];
for (const [sentence, files, includes] of broken) {
  Deno.test(`loadInCluster() says what is wrong when ${sentence}`, async () => {
    await using account = await createAccount(files);
    const options = { host: "10.96.0.1", port: "443", root: account.root };
    await assertRejects(() => loadInCluster(options, { now: () => 0 }), Error, includes);
  });
}
