/** What parseAuthentication() makes of TriggerAuthentications and ClusterTriggerAuthentications. */
import { assertEquals } from "#assert";
import { parseAuthentication } from "../../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { toAuthentication } from "../../support/authentications.ts";
import { readDefinition } from "../../support/definition.ts";
import type { Edits } from "../../support/manifests.ts";

const SECRETS = [{ parameter: "bearerToken", name: "prom-token", key: "token" }];
const ENV = [
  { parameter: "username", name: "PROM_USER", containerName: null },
  { parameter: "password", name: "PROM_PASSWORD", containerName: "proxy" },
];

Deno.test("parseAuthentication() reads parameters of secrets and of the environment (R16)", () => {
  assertEquals(parseAuthentication(toAuthentication({})), {
    uid: "u1",
    resourceVersion: "3",
    kind: "TriggerAuthentication",
    namespace: "shop",
    name: "prom",
    authentication: {
      kind: "TriggerAuthentication",
      namespace: "shop",
      name: "prom",
      allowedHosts: null,
      allowedNamespaces: null,
      allowsPlainHttp: false,
      secrets: SECRETS,
      env: ENV,
    },
    problems: [],
    warnings: [],
    users: "",
  });
  const alone = parseAuthentication({ metadata: { name: "prom" }, spec: {} });
  assertEquals([alone.authentication?.namespace, alone.authentication?.secrets, alone.authentication?.env], [
    "default",
    [],
    [],
  ]);
});

Deno.test("parseAuthentication() gives a ClusterTriggerAuthentication no namespace, whatever it has (R16)", () => {
  const { authentication, namespace } = parseAuthentication(
    toAuthentication({ "kind": "ClusterTriggerAuthentication" }),
  );
  assertEquals([namespace, authentication?.namespace, authentication?.kind], [
    null,
    null,
    "ClusterTriggerAuthentication",
  ]);
});

Deno.test("parseAuthentication() refuses every other source by its name, and takes those that are empty (R16)", () => {
  const sources: Edits = {
    configMapTargetRef: [{ parameter: "a", name: "b", key: "c" }],
    podIdentity: { provider: "aws" },
    hashiCorpVault: { address: "http://vault", authentication: "token", secrets: [] },
    azureKeyVault: { vaultUri: "https://vault", secrets: [] },
    gcpSecretManager: { secrets: [] },
    awsSecretManager: { secrets: [] },
    boundServiceAccountToken: [{ parameter: "a", serviceAccountName: "b" }],
    filePath: "/tmp/a",
    oauth2: { type: "clientCredentials", clientId: "a", tokenUrl: "http://a" },
    someNewSource: {},
  };
  for (const [key, value] of Object.entries(sources)) {
    const { authentication, problems } = parseAuthentication(toAuthentication({ [`spec.${key}`]: value }));
    const message = `Cannot use source "${key}": podfit reads secretTargetRef and env, put the parameter into a Secret`;
    assertEquals([authentication, problems], [null, [{ path: `spec.${key}`, message }]]);
  }
  const empty = {
    "spec.configMapTargetRef": [],
    "spec.podIdentity": { provider: "none" },
    "spec.filePath": "",
    "spec.oauth2": null,
  };
  assertEquals(parseAuthentication(toAuthentication(empty)).problems, []);
});

Deno.test("parseAuthentication() names every field that is missing or wrong (R16)", () => {
  const cases: readonly (readonly [Edits, string])[] = [
    [{ "spec": undefined }, "spec"],
    [{ "metadata": undefined }, "metadata"],
    [{ "metadata.name": undefined }, "metadata.name"],
    [{ "kind": "Secret" }, "kind"],
    [{ "apiVersion": "v1" }, "apiVersion"],
    [{ "spec.secretTargetRef": {} }, "spec.secretTargetRef"],
    [{ "spec.secretTargetRef": ["token"] }, "spec.secretTargetRef[0]"],
    [{ "spec.secretTargetRef.0.parameter": undefined }, "spec.secretTargetRef[0].parameter"],
    [{ "spec.secretTargetRef.0.name": undefined }, "spec.secretTargetRef[0].name"],
    [{ "spec.secretTargetRef.0.name": "../other/secrets/a" }, "spec.secretTargetRef[0].name"],
    [{ "spec.secretTargetRef.0.key": "" }, "spec.secretTargetRef[0].key"],
    [{ "spec.env.0.name": undefined }, "spec.env[0].name"],
    [{ "spec.env.1.parameter": 5 }, "spec.env[1].parameter"],
  ];
  for (const [edits, path] of cases) {
    const { authentication, problems } = parseAuthentication(toAuthentication(edits));
    assertEquals([authentication, problems.map((one) => one.path)], [null, [path]]);
  }
});

Deno.test("parseAuthentication() takes 64 parameters of a list and no more (R16)", () => {
  const list = (count: number) => Array.from({ length: count }, (_, index) => ({ parameter: `p${index}`, name: "V" }));
  assertEquals(parseAuthentication(toAuthentication({ "spec.env": list(64) })).problems, []);
  const { authentication, problems } = parseAuthentication(toAuthentication({ "spec.env": list(65) }));
  assertEquals([authentication, problems.map((one) => one.path)], [null, ["spec.env"]]);
});

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

/** Returns the paths of the texts, lists and maps without a bound. */
function listUnbounded(schema: Schema, path: string): readonly string[] {
  const { type, properties = {}, items, additionalProperties } = schema;
  const isUnbounded = (type === "string" && schema.enum === undefined && schema.maxLength === undefined) ||
    (type === "array" && schema.maxItems === undefined) ||
    (additionalProperties !== undefined && schema.maxProperties === undefined);
  return [
    ...(isUnbounded ? [path] : []),
    ...Object.entries(properties).flatMap(([key, one]) => listUnbounded(one, `${path}.${key}`)),
    ...(items === undefined ? [] : listUnbounded(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : listUnbounded(additionalProperties, `${path}{}`)),
  ];
}

for (const kind of ["triggerauthentication", "clustertriggerauthentication"]) {
  const { spec, status } = readDefinition<Schema>(kind).spec.versions[0].schema.openAPIV3Schema.properties ?? {};

  Deno.test(`the definition of ${kind} bounds every text, list and map (L57)`, () => {
    const unbounded = [...listUnbounded(spec ?? {}, "spec"), ...listUnbounded(status ?? {}, "status")];
    assertEquals([Object.keys(spec?.properties ?? {}).length > 5, unbounded], [true, []]);
  });

  Deno.test(`the definition of ${kind} has the bounds of the parser for what podfit reads (R16, L57)`, () => {
    const { secretTargetRef, env } = spec?.properties ?? {};
    assertEquals([secretTargetRef?.maxItems, env?.maxItems], [64, 64]);
    const list = (count: number, length: number) =>
      Array.from({ length: count }, () => ({ parameter: "p".repeat(length), name: "n", key: "k".repeat(length) }));
    const problems = (count: number, length: number) =>
      parseAuthentication(toAuthentication({ "spec.secretTargetRef": list(count, length) })).problems.length;
    const lengths = Object.values(secretTargetRef?.items?.properties ?? {}).map(({ maxLength }) => maxLength);
    assertEquals(lengths, [253, 253, 253]);
    assertEquals([problems(64, 253), problems(65, 1) > 0, problems(1, 254) > 0], [0, true, true]);
  });
}
