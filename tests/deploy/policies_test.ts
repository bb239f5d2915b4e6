/** The shipped admission policies, evaluated over requests; tests/e2e/policies_test.ts asks a real API server. */
import { assertEquals, assertStringIncludes } from "#assert";
import { Environment } from "@marcbachmann/cel-js";
import { parseAll } from "../../lib/runtime/yaml.ts";

interface Named {
  readonly name: string;
  readonly expression: string;
}

interface Policy {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConstraints: { readonly resourceRules: readonly unknown[] };
    readonly matchConditions: readonly Named[];
    readonly variables: readonly Named[];
    readonly validations: readonly {
      readonly expression: string;
      readonly reason: string;
      readonly message: string;
      readonly messageExpression?: string;
    }[];
  };
}

interface Binding {
  readonly kind: string;
  readonly spec: { readonly policyName: string; readonly validationActions: readonly string[] };
}

interface Request {
  readonly username: string;
  /** Where the token of the request is bound to a pod: that pod. */
  readonly token?: { readonly pod: string; readonly uid: string; readonly node: string };
  readonly pod?: {
    readonly name?: string;
    readonly uid?: string;
    readonly node?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

const AGENT = "system:serviceaccount:podfit:podfit";
const CENTRAL = "system:serviceaccount:podfit:central";
const SIDECAR = "system:serviceaccount:shop:podfit-sidecar";
const APP = "system:serviceaccount:shop:web";
const ADMIN = "kubernetes-admin";
const LABELS = { app: "web", "podfit.dev/mode": "sidecar" };
const NODE1 = { pod: "podfit-x", uid: "u9", node: "node1" };
const OWN = { pod: "web-1", uid: "u1", node: "node1" };

type Answer = "passes" | "is not looked at" | "is refused";

const NODE_LOCAL: Readonly<Record<string, readonly [Request, Answer]>> = {
  "an agent's, for a pod of its node,": [{ username: AGENT, token: NODE1 }, "passes"],
  "an agent's, for a pod of another node,": [
    { username: AGENT, token: NODE1, pod: { node: "node2" } },
    "is refused",
  ],
  "an agent's, for a pod whose node's name begins with its own,": [
    { username: AGENT, token: NODE1, pod: { node: "node1-spare" } },
    "is refused",
  ],
  "of the agents' account with a token of no pod": [{ username: AGENT }, "is refused"],
  "an agent's, for a pod on no node,": [{ username: AGENT, token: NODE1, pod: { node: "" } }, "is refused"],
  "of the agents' account with a token of no pod, for a pod on no node,": [
    { username: AGENT, pod: { node: "" } },
    "is refused",
  ],
  "of another account": [{ username: CENTRAL, token: NODE1, pod: { node: "node2" } }, "is not looked at"],
  "an administrator's": [{ username: ADMIN, pod: { node: "node2" } }, "is not looked at"],
};

const SIDECARS: Readonly<Record<string, readonly [Request, Answer]>> = {
  "a sidecar's, for its own pod,": [{ username: SIDECAR, token: OWN, pod: { labels: LABELS } }, "passes"],
  "of an app's own account, for the pod of its token,": [
    { username: APP, token: OWN, pod: { labels: LABELS } },
    "passes",
  ],
  "a sidecar's, for another pod with the label,": [
    { username: SIDECAR, token: OWN, pod: { name: "web-2", uid: "u2", labels: LABELS } },
    "is refused",
  ],
  "a sidecar's, for another pod without the label,": [
    { username: SIDECAR, token: OWN, pod: { name: "db-1", uid: "u3" } },
    "is refused",
  ],
  "a sidecar's, for the pod of its name that came after its own,": [
    { username: SIDECAR, token: OWN, pod: { uid: "u7", labels: LABELS } },
    "is refused",
  ],
  "of a sidecar's account with a token of no pod": [
    { username: SIDECAR, pod: { labels: LABELS } },
    "is refused",
  ],
  "of a podfit for the cluster, for a pod with the label,": [
    { username: CENTRAL, token: NODE1, pod: { labels: LABELS } },
    "is refused",
  ],
  "of a podfit for the cluster, for a pod without it,": [{ username: CENTRAL, token: NODE1 }, "is not looked at"],
  "of a podfit for the cluster, for a pod with another mode,": [
    { username: CENTRAL, token: NODE1, pod: { labels: { "podfit.dev/mode": "central" } } },
    "is not looked at",
  ],
  "an administrator's, for a pod with the label,": [
    { username: ADMIN, pod: { labels: LABELS } },
    "is not looked at",
  ],
};

for (const [file, table] of [["node-local", NODE_LOCAL], ["sidecar", SIDECARS]] as const) {
  const [policy, binding] = read(file);
  Deno.test(`C54 a resize under the policy ${file}`, async (t) => {
    for (const [name, [request, answer]] of Object.entries(table)) {
      await t.step(`${name} ${answer}`, () => assertEquals(judge(policy, request).answer, answer));
    }
  });
  Deno.test(`C54 the policy ${file} is bound, denies, and covers resizes alone`, () => {
    const { spec } = policy;
    assertEquals(spec.failurePolicy, "Fail");
    assertEquals(spec.matchConstraints.resourceRules, [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["pods/resize"] },
    ]);
    assertEquals(binding.spec, { policyName: policy.metadata.name, validationActions: ["Deny"] });
    for (const { reason, message } of spec.validations) {
      assertEquals(reason, "Forbidden");
      // The API server takes no line breaks in it.
      assertEquals(message.includes("\n"), false);
    }
  });
}

Deno.test("C54 a refusal of the policies says what the token is of, and what to do", () => {
  const [nodeLocal] = read("node-local");
  const [sidecar] = read("sidecar");
  const foreign = judge(nodeLocal, { username: AGENT, token: NODE1, pod: { node: "node2" } });
  assertEquals(
    foreign.message,
    'the token is of node "node1" and the pod on node "node2": the podfit of that node resizes it',
  );
  assertStringIncludes(judge(nodeLocal, { username: AGENT }).message, "use the token that the kubelet mounts");
  const central = judge(sidecar, { username: CENTRAL, token: NODE1, pod: { labels: LABELS } });
  assertStringIncludes(central.message, 'the token is of pod "podfit-x": to have another podfit resize it, take the');
});

function read(name: string): readonly [Policy, Binding] {
  const text = Deno.readTextFileSync(new URL(`../../deploy/policies/${name}.yaml`, import.meta.url));
  const [policy, binding, ...rest] = parseAll(text) as readonly unknown[];
  assertEquals(rest, []);
  return [policy as Policy, binding as Binding];
}

/** As the API server does it: conditions, then validations, of which the first that fails gives the message. */
function judge({ spec }: Policy, request: Request): { readonly answer: Answer; readonly message: string } {
  const context: Record<string, unknown> = { ...toContext(request), variables: {} };
  const evaluate = (text: string) => ENVIRONMENT.parse(text)(context);
  if (!spec.matchConditions.every(({ expression }) => evaluate(expression) === true)) {
    return { answer: "is not looked at", message: "" };
  }
  context["variables"] = Object.fromEntries(
    spec.variables.map(({ name, expression }) => [name, evaluate(expression)]),
  );
  for (const { expression, message, messageExpression } of spec.validations) {
    if (evaluate(expression) === true) continue;
    return {
      answer: "is refused",
      message: messageExpression === undefined ? message : String(evaluate(messageExpression)),
    };
  }
  return { answer: "passes", message: "" };
}

const ENVIRONMENT = ["request", "object", "oldObject", "variables"].reduce(
  (environment, name) => environment.registerVariable(name, "dyn"),
  new Environment(),
);

function toContext({ username, token, pod: { name = "web-1", uid = "u1", node = "node1", labels } = {} }: Request) {
  const oldObject = {
    metadata: { name, namespace: "shop", uid, ...(labels !== undefined && { labels }) },
    spec: node === "" ? {} : { nodeName: node },
  };
  const extra = token !== undefined && {
    extra: {
      "authentication.kubernetes.io/pod-name": [token.pod],
      "authentication.kubernetes.io/pod-uid": [token.uid],
      "authentication.kubernetes.io/node-name": [token.node],
    },
  };
  // What the request makes of the pod: it could take the label off.
  const object = { ...oldObject, metadata: { name, namespace: "shop", uid, labels: {} } };
  return { request: { userInfo: { username, ...extra } }, oldObject, object };
}
