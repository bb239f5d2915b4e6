/** Who may use an authentication, and which servers get its credentials. */
import { assertEquals, assertStringIncludes } from "#assert";
import { parseAuthentication } from "../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { type CredentialRules, SAFE_RULES } from "../../lib/resources/trigger_authentication/use.ts";
import { createTriggerCredentials, resolveCredentials } from "../../lib/triggers/credentials.ts";
import type { AskedSource } from "../../lib/triggers/value.ts";
import { toAuthentication } from "../support/authentications.ts";
import { apiSource, externalTrigger, prometheusSource } from "../support/triggers.ts";

const KEDA: CredentialRules = { goAnywhere: true, overPlainHttp: true };

const SECRETS: Record<string, string> = {
  token: "s3cret",
  url: "https://own.example/x",
  serverAddress: "https://prometheus.own.svc:9090",
  oauthTokenURI: "https://idp.example/token",
  clientID: "me",
};

interface Case {
  readonly kind?: "TriggerAuthentication" | "ClusterTriggerAuthentication";
  readonly annotations?: Readonly<Record<string, string>>;
  /** Parameters besides the token. */
  readonly parameters?: readonly string[];
  readonly source?: AskedSource;
  readonly namespace?: string;
  readonly rules?: CredentialRules;
}

/** `null` = the trigger gets its credentials; a text = why it does not. */
async function findRefusal(
  { kind = "ClusterTriggerAuthentication", annotations = {}, parameters = [], namespace = "shop", ...rest }: Case,
): Promise<string | null> {
  const { source = bearer("https://api.example/x"), rules = SAFE_RULES } = rest;
  const { authentication } = parseAuthentication(toAuthentication({
    kind,
    "metadata.annotations": annotations,
    "spec.env": undefined,
    "spec.secretTargetRef": ["token", ...parameters].map((parameter) => ({ parameter, name: "s", key: parameter })),
  }));
  if (authentication === null) throw new Error("the authentication is valid");
  const entries = Object.fromEntries(Object.entries(SECRETS).map(([key, value]) => [key, btoa(value)]));
  const credentials = createTriggerCredentials(
    namespace,
    ({ namespace }, signal) =>
      resolveCredentials(authentication, {
        namespace,
        clusterNamespace: "podfit-credentials",
        rules,
        fetchSecret: () => Promise.resolve({ kind: "found", entries }),
        fetchConfigMap: () => Promise.resolve({ kind: "missing" }),
        fetchTarget: () => Promise.resolve({ kind: "missing" }),
        pause: () => Promise.resolve(),
        signal,
      }),
  );
  const trigger = externalTrigger(source, { authentication: { kind, name: "prom" } });
  const got = await credentials.get(trigger, new AbortController().signal);
  if (got.kind === "resolved") return null;
  assertEquals(got.kind, "missing");
  return got.message;
}

function bearer(url: string): AskedSource {
  return apiSource({ url, authModes: ["bearer"] });
}

const FOR_ALL = { "podfit.dev/allowed-namespaces": "*" };

const toHosts = (hosts: string) => ({ ...FOR_ALL, "podfit.dev/allowed-hosts": hosts });

Deno.test("credentials of a ClusterTriggerAuthentication go nowhere until its annotations name namespaces and hosts (R16)", async () => {
  const bare = await findRefusal({});
  assertStringIncludes(bare ?? "", 'annotate it with podfit.dev/allowed-namespaces: "shop", or "*" for all namespaces');
  assertStringIncludes(bare ?? "", "podfit.dev/allowed-hosts");
  const noHosts = await findRefusal({ annotations: FOR_ALL });
  assertStringIncludes(noHosts ?? "", 'annotate it with podfit.dev/allowed-hosts: "api.example:443"');
  assertEquals(await findRefusal({ annotations: toHosts("api.example") }), null);
});

Deno.test("credentials of a ClusterTriggerAuthentication go to the named hosts alone, whatever a trigger's address looks like (R16)", async () => {
  const annotations = toHosts("api.example:443, *.shop.svc , 10.1.0.0/16");
  const good = ["https://api.example/a?b", "https://API.example.:443", "https://a.shop.svc:8443", "https://10.1.2.3"];
  for (const url of good) assertEquals(await findRefusal({ annotations, source: bearer(url) }), null, url);
  const bad = [
    "https://evil.example",
    "https://api.example.evil.example",
    "https://api.example:444",
    "https://api.example@evil.example/",
    "https://evil.example#api.example",
    "https://evil.example\\@api.example",
    "https://shop.svc",
    "https://10.2.0.1",
  ];
  for (const url of bad) {
    const refusal = await findRefusal({ annotations, source: bearer(url) });
    assertStringIncludes(refusal ?? "", "add the host to its podfit.dev/allowed-hosts", url);
    const serverAddress = prometheusSource({ serverAddress: url, authModes: ["bearer"] });
    assertStringIncludes(await findRefusal({ annotations, source: serverAddress }) ?? "", "it does not name this host");
  }
  const byKey = apiSource({ url: "https://evil.example", authModes: ["apiKey"], apiKey: "k", method: "query" });
  assertStringIncludes(await findRefusal({ annotations, source: byKey }) ?? "", "it does not name this host");
});

Deno.test("a token goes to the named hosts alone, and its endpoint is one that the authentication names (R16, R100)", async () => {
  const parameters = ["oauthTokenURI", "clientID"];
  const oauth = (serverAddress: string) => prometheusSource({ serverAddress, authModes: ["oauth"] });
  const refuse = (own: Case) => findRefusal({ parameters, source: oauth("https://prom.example"), ...own });
  assertEquals(await refuse({ annotations: toHosts("prom.example") }), null);
  const elsewhere = await refuse({ annotations: toHosts("prom.example"), source: oauth("https://evil.example") });
  assertStringIncludes(elsewhere ?? "", '"evil.example:443": it does not name this host');
  assertStringIncludes(await refuse({ annotations: FOR_ALL }) ?? "", '"prom.example:443": it does not name this host');
  assertEquals(await refuse({ kind: "TriggerAuthentication" }), null);
  const plain = await refuse({ kind: "TriggerAuthentication", source: oauth("http://prom.example") });
  assertStringIncludes(plain ?? "", "over plain HTTP");
  SECRETS["oauthTokenURI"] = "http://idp.example/token";
  const plainToken = await refuse({ kind: "TriggerAuthentication" });
  SECRETS["oauthTokenURI"] = "https://idp.example/token";
  assertStringIncludes(plainToken ?? "", "over plain HTTP");
});

Deno.test("credentials of a ClusterTriggerAuthentication are for the listed namespaces (R16)", async () => {
  const annotations = { "podfit.dev/allowed-namespaces": "shop, cart", "podfit.dev/allowed-hosts": "api.example" };
  for (const namespace of ["shop", "cart"]) assertEquals(await findRefusal({ annotations, namespace }), null);
  assertStringIncludes(
    await findRefusal({ annotations, namespace: "shops", rules: KEDA }) ?? "",
    'add "shops" to its annotation podfit.dev/allowed-namespaces',
  );
});

Deno.test("a url or serverAddress of the authentication itself names its server (R16)", async () => {
  const url = { annotations: FOR_ALL, parameters: ["url"] };
  assertEquals(await findRefusal({ ...url, source: bearer("https://own.example/stats") }), null);
  assertStringIncludes(await findRefusal(url) ?? "", "it does not name this host");
  const source = prometheusSource({ serverAddress: "https://prometheus.own.svc:9090", authModes: ["bearer"] });
  assertEquals(await findRefusal({ annotations: FOR_ALL, parameters: ["serverAddress"], source }), null);
});

Deno.test("credentials go over plain HTTP only where the authentication or the operator says so, or to this machine (R16)", async () => {
  const source = bearer("http://api.example");
  for (const kind of ["TriggerAuthentication", "ClusterTriggerAuthentication"] as const) {
    const annotations = toHosts("api.example,127.0.0.1");
    const refusal = await findRefusal({ kind, annotations, source });
    assertStringIncludes(refusal ?? "", 'use https, or annotate it with podfit.dev/allow-plain-http: "true"');
    const allowed = { ...annotations, "podfit.dev/allow-plain-http": "true" };
    assertEquals(await findRefusal({ kind, annotations: allowed, source }), null);
    assertEquals(await findRefusal({ kind, annotations, source, rules: { ...SAFE_RULES, overPlainHttp: true } }), null);
    assertEquals(await findRefusal({ kind, annotations, source: bearer("http://127.0.0.1:81") }), null);
  }
});

Deno.test("a TriggerAuthentication is bound to hosts where it names them, and needs no annotation (R16)", async () => {
  const kind = "TriggerAuthentication";
  assertEquals(await findRefusal({ kind }), null);
  const annotations = { "podfit.dev/allowed-hosts": "other.example" };
  assertStringIncludes(await findRefusal({ kind, annotations }) ?? "", "it does not name this host");
});

Deno.test("an authentication without credentials, with a ca alone, is for every host (R16)", async () => {
  assertEquals(await findRefusal({ annotations: FOR_ALL, source: apiSource({ url: "http://api.example" }) }), null);
});

Deno.test("an operator's rule lets credentials go anywhere, as in KEDA (R16)", async () => {
  assertEquals(await findRefusal({ rules: KEDA, source: bearer("http://evil.example") }), null);
  const annotations = toHosts("api.example");
  assertStringIncludes(
    await findRefusal({ rules: KEDA, annotations, source: bearer("http://evil.example") }) ?? "",
    "it does not name this host",
  );
});

Deno.test("an annotation that cannot be read makes the authentication invalid (R16)", () => {
  const bad: readonly (readonly [key: string, value: string])[] = [
    ["podfit.dev/allowed-hosts", ""],
    ["podfit.dev/allowed-hosts", "*"],
    ["podfit.dev/allowed-hosts", "https://api"],
    ["podfit.dev/allowed-hosts", Array.from({ length: 65 }, (_, index) => `h${index}`).join()],
    ["podfit.dev/allowed-namespaces", " , "],
    ["podfit.dev/allowed-namespaces", "shop,*"],
  ];
  for (const [key, value] of bad) {
    const { authentication, problems } = parseAuthentication(
      toAuthentication({ "metadata.annotations": { [key]: value } }),
    );
    assertEquals([authentication, problems.length], [null, 1], `${key}: ${value}`);
  }
});
