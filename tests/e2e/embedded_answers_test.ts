/**
 * The embedded API server against a real one: the same requests, one after the other, and the same answers but for
 * what is listed here with its reason. A difference that is listed and gone is a failure too.
 */
import { assertEquals } from "#assert";
import { connect } from "../../lib/kube/http_transport.ts";
import { systemClock } from "../../lib/runtime/clock.ts";
import { parseAll } from "../../lib/runtime/yaml.ts";
import { createFullApiServer } from "../support/embedded/full_cluster.ts";
import { type Asked, Conversation, findDifferences } from "./support/answers.ts";
import { scenario } from "./support/needs.ts";
import { REQUESTS } from "./support/requests.ts";
import { SCALE_REQUESTS } from "./support/scale_requests.ts";

interface Accepted {
  /** Matches a reported line: the request's sentence, then the path and both values. */
  readonly where: RegExp;
  readonly why: string;
}

const ACCEPTED: readonly Accepted[] = [
  {
    where:
      /^(POST (the wrong kind|no JSON)|GET a (label selector|continue token) .*|PATCH a .*patch that is .*): body\.m/,
    why: "the words of Go's parsers",
  },
  { where: /: pod updates may not change fields other than /, why: "Go prints the difference behind the same words" },
  { where: /essage: .*invalid value: .*apiVersion/i, why: "the whole object is printed, its keys in another order" },
  { where: /^PATCH a version that is none: code: 500 .* \| 409 /, why: "versions are compared as text" },
  { where: /^POST a new event that lacks .*: code: 422 .* \| 201 /, why: "events of the newer form are not validated" },
  { where: /annotations\.(f:)?(kubernetes\.io\/limit-ranger|deprecated\.daemonset)/, why: "notes of admission's own" },
];

scenario("the embedded API server answers like the real one", {
  // Whose answers it gives.
  needs: { minorVersion: "1.36" },
  realOnly: "it compares with the real one",
  async run({ namespace }) {
    await using real = await connect({ version: "test", kubeconfigVariable: Deno.env.get("KUBECONFIG") ?? null });
    const embedded = await openEmbedded(namespace);
    const [one, other] = [new Conversation(real, namespace), new Conversation(embedded, namespace)];
    const reported: string[] = [];
    for (const request of [...REQUESTS, ...SCALE_REQUESTS]) {
      const [left, right] = [await one.ask(request), await other.ask(request)];
      reported.push(...findDifferences(left, right).map((line) => `${request.sentence}: ${line}`));
    }
    const missed = reported.filter((line) => !ACCEPTED.some(({ where }) => where.test(line)));
    assertEquals(missed, [], "real | embedded");
    const unneeded = ACCEPTED.filter(({ where }) => !reported.some((line) => where.test(line)));
    assertEquals(unneeded.map(({ why }) => why), []);
  },
});

/** With the definition of autoscalers and this namespace. */
async function openEmbedded(namespace: string): Promise<Asked> {
  const server = createFullApiServer({ clock: systemClock, random: Math.random });
  const asked: Asked = { origin: "http://embedded.test", transport: server.handle };
  const post = async (path: string, object: unknown) => {
    const headers = { "content-type": "application/json" };
    const response = await asked.transport(
      new Request(asked.origin + path, { method: "POST", headers, body: JSON.stringify(object) }),
    );
    assertEquals(response.status, 201, await response.text());
  };
  const file = new URL("../../crds/podresourceautoscaler.yaml", import.meta.url);
  for (const definition of parseAll(await Deno.readTextFile(file))) {
    await post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  }
  await post("/api/v1/namespaces?fieldManager=kubectl-create", { metadata: { name: namespace } });
  return asked;
}
