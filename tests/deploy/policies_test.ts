/** The shipped admission policies, evaluated over requests; tests/e2e/policies_test.ts asks a real API server. */
import { assertEquals, assertStringIncludes } from "#assert";
import { Environment } from "@marcbachmann/cel-js";
import { parseAll } from "../../lib/runtime/yaml.ts";

interface Named {
  readonly name: string;
  readonly expression: string;
}

interface ResourceRule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

interface Policy {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConstraints: { readonly resourceRules: readonly ResourceRule[] };
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
  /** A write of another object than the size of a pod. */
  readonly write?: Write;
  /** The namespace of the request: shop by default. */
  readonly namespace?: string;
  readonly namespaceLabels?: Readonly<Record<string, string>>;
}

interface Write {
  readonly resource: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly before?: unknown;
  readonly after?: unknown;
}

const AGENT = "system:serviceaccount:podfit:podfit";
const CENTRAL = "system:serviceaccount:podfit:central";
const SIDECAR = "system:serviceaccount:shop:podfit-sidecar";
const APP = "system:serviceaccount:shop:web";
const ADMIN = "kubernetes-admin";
const LABELS = { app: "web", "podfit.dev/mode": "sidecar" };
const NODE1 = { pod: "podfit-x", uid: "u9", node: "node1" };
const EXCLUDED = { "podfit.dev/excluded": "" };
const OWN = { pod: "web-1", uid: "u1", node: "node1" };

function lease(before: string | null, after: string, seconds = 15): Write {
  const toLease = (holderIdentity: string) => ({ spec: { holderIdentity, leaseDurationSeconds: seconds } });
  return before === null
    ? { resource: "leases", operation: "CREATE", after: toLease(after) }
    : { resource: "leases", operation: "UPDATE", before: toLease(before), after: toLease(after) };
}

function event(before: string | null, after: string): Write {
  return before === null ? { resource: "events", operation: "CREATE", after: { reportingInstance: after } } : {
    resource: "events",
    operation: "UPDATE",
    before: { reportingInstance: before },
    after: { reportingInstance: after },
  };
}

const STATUS: Write = { resource: "podresourceautoscalers", operation: "UPDATE", before: {}, after: {} };

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
  "an agent's, for a pod of its node in kube-system,": [
    { username: AGENT, token: NODE1, namespace: "kube-system" },
    "is refused",
  ],
  "an agent's, for a pod of its node in a namespace that is labelled as excluded,": [
    { username: AGENT, token: NODE1, namespaceLabels: EXCLUDED },
    "is refused",
  ],
  ...Object.fromEntries(
    ["kube-public", "kube-node-lease"].map((namespace) =>
      [`an agent's, for a pod of its node in ${namespace},`, [
        { username: AGENT, token: NODE1, namespace },
        "is refused",
      ]] as const
    ),
  ),
  "of another account": [{ username: CENTRAL, token: NODE1, pod: { node: "node2" } }, "is not looked at"],
  ...writesOf(AGENT, NODE1),
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
  ...Object.fromEntries(
    ["kube-system", "kube-public", "kube-node-lease"].map((namespace) =>
      [`a sidecar's, for its own pod in ${namespace},`, [
        { username: SIDECAR, token: OWN, pod: { labels: LABELS }, namespace },
        "is refused",
      ]] as const
    ),
  ),
  "a sidecar's, for its own pod in a namespace that is labelled as excluded,": [
    { username: SIDECAR, token: OWN, pod: { labels: LABELS }, namespaceLabels: EXCLUDED },
    "is refused",
  ],
  "a sidecar's, for a status in a namespace that is labelled as excluded,": [
    { username: SIDECAR, token: OWN, write: STATUS, namespaceLabels: EXCLUDED },
    "passes",
  ],
  "an administrator's, for a pod with the label in a namespace that is labelled as excluded,": [
    { username: ADMIN, pod: { labels: LABELS }, namespaceLabels: EXCLUDED },
    "is not looked at",
  ],
  ...writesOf(SIDECAR, OWN),
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

/** What agents and sidecars write besides sizes. */
function writesOf(username: string, token: NonNullable<Request["token"]>) {
  const other = "podfit-other_1";
  const own = `${token.pod}_1`;
  const table: Readonly<Record<string, readonly [Write, Answer]>> = {
    "a new Lease in its own name": [lease(null, own), "passes"],
    "a Lease taken from another pod in its own name": [lease(other, own), "passes"],
    "the renewal of its Lease": [lease(own, own), "passes"],
    "the release of its Lease": [lease(own, ""), "passes"],
    "a Lease in the name of another pod": [lease(own, other), "is refused"],
    "a Lease in the name of a pod whose name begins with its own": [lease(own, `${token.pod}-2_1`), "is refused"],
    "a new Lease in the name of another pod": [lease(null, other), "is refused"],
    "the release of the Lease of another pod": [lease(other, ""), "is refused"],
    "a Lease for an hour": [lease(own, own, 3600), "is refused"],
    "a Lease for a minute": [lease(own, own, 60), "passes"],
    "an event in its own name": [event(null, token.pod), "passes"],
    "one more of its own event": [event(token.pod, token.pod), "passes"],
    "an event in the name of another pod": [event(null, "podfit-other"), "is refused"],
    "another pod's event": [event("podfit-other", token.pod), "is refused"],
    "a status": [STATUS, "passes"],
  };
  const rows = Object.entries(table).map(([what, [write, answer]]) =>
    [`${what}, by its account,`, [{ username, token, write }, answer]] as const
  );
  return Object.fromEntries<readonly [Request, Answer]>([
    ...rows,
    ["a status, by a token of no pod,", [{ username, write: STATUS }, "is refused"]],
    ["a Lease, by a token of no pod,", [{ username, write: lease(null, "_1") }, "is refused"]],
    ["another account's Lease", [{ username: APP, write: lease(other, "x") }, "is not looked at"]],
  ]);
}

const POD = {
  containers: [
    { name: "main", resources: { requests: { cpu: "1" }, limits: { memory: "1Gi" } } },
    { name: "plain", resources: {} },
  ],
  initContainers: [{ name: "side", resources: { requests: { cpu: "1", memory: "1Mi" } } }],
};

/** A resize: what it makes of the sizes of containers. */
function resizes(after: Readonly<Record<string, unknown>>, spec: Readonly<Record<string, unknown>> = {}): Write {
  const change = (list: typeof POD.containers | typeof POD.initContainers) =>
    list.map((one) => after[one.name] === undefined ? one : { ...one, resources: after[one.name] });
  return {
    resource: "pods",
    operation: "UPDATE",
    before: { metadata: {}, spec: POD },
    after: {
      metadata: {},
      spec: { containers: change(POD.containers), initContainers: change(POD.initContainers), ...spec },
    },
  };
}

const SCALE: Write = {
  resource: "deployments",
  operation: "UPDATE",
  before: { spec: { replicas: 2 } },
  after: { spec: { replicas: 0 } },
};

const SCALED_OBJECT = {
  metadata: { labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["other"], managedFields: [] as unknown[] },
  spec: { triggers: [{ metadata: { serverAddress: "http://prometheus" } }] },
};

/** A change of a ScaledObject. */
function changes(metadata: Readonly<Record<string, unknown>>, spec: unknown = SCALED_OBJECT.spec): Write {
  return {
    resource: "scaledobjects",
    operation: "UPDATE",
    before: SCALED_OBJECT,
    after: { metadata: { ...SCALED_OBJECT.metadata, ...metadata }, spec },
  };
}

const DELETED_HPA: Write = { resource: "horizontalpodautoscalers", operation: "DELETE", before: {} };

const CENTRALS: Readonly<Record<string, readonly [Omit<Request, "username">, Answer]>> = {
  "a resize of a container,": [
    { write: resizes({ main: { requests: { cpu: "1m" }, limits: { memory: "64Gi" } } }) },
    "passes",
  ],
  "a resize of a native sidecar,": [{ write: resizes({ side: { requests: { cpu: "2", memory: "2Mi" } } }) }, "passes"],
  "a resize that adds a limit,": [
    { write: resizes({ main: { requests: { cpu: "1" }, limits: { memory: "1Gi", cpu: "1m" } } }) },
    "is refused",
  ],
  "a resize that adds the first limit,": [{ write: resizes({ plain: { limits: { cpu: "1m" } } }) }, "is refused"],
  "a resize that adds a request,": [{ write: resizes({ plain: { requests: { cpu: "64" } } }) }, "is refused"],
  "a resize that adds a limit to a native sidecar,": [
    { write: resizes({ side: { requests: { cpu: "1", memory: "1Mi" }, limits: { cpu: "1m" } } }) },
    "is refused",
  ],
  "a resize that removes a request,": [{ write: resizes({ main: { limits: { memory: "1Gi" } } }) }, "is refused"],
  "a resize that removes a limit,": [{ write: resizes({ main: { requests: { cpu: "1" } } }) }, "is refused"],
  "a resize of the whole pod,": [{ write: resizes({}, { resources: { limits: { cpu: "1m" } } }) }, "is refused"],
  "a resize in kube-system,": [{ write: resizes({}), namespace: "kube-system" }, "is refused"],
  "a resize in kube-public,": [{ write: resizes({}), namespace: "kube-public" }, "is refused"],
  "a resize in kube-node-lease,": [{ write: resizes({}), namespace: "kube-node-lease" }, "is refused"],
  "a resize in a namespace whose name contains kube-system,": [
    { write: resizes({}), namespace: "not-kube-system" },
    "passes",
  ],
  "a resize in a namespace that is labelled as excluded,": [
    { write: resizes({}), namespaceLabels: { "podfit.dev/excluded": "true" } },
    "is refused",
  ],
  "a change of replicas,": [{ write: SCALE }, "passes"],
  "a change of replicas in kube-system,": [{ write: SCALE, namespace: "kube-system" }, "is refused"],
  "a change of replicas in a namespace that is labelled as excluded,": [
    { write: SCALE, namespaceLabels: { "podfit.dev/excluded": "true" } },
    "is refused",
  ],
  "the deletion of an HPA,": [{ write: DELETED_HPA }, "passes"],
  "the deletion of an HPA in kube-system,": [{ write: DELETED_HPA, namespace: "kube-system" }, "is refused"],
  "podfit's finalizer on a ScaledObject,": [
    { write: changes({ finalizers: ["other", "finalizer.keda.sh"] }) },
    "passes",
  ],
  "the end of podfit's finalizer in kube-system,": [
    { write: changes({ managedFields: [{}] }), namespace: "kube-system" },
    "passes",
  ],
  "another finalizer on a ScaledObject,": [{ write: changes({ finalizers: ["other", "mine"] }) }, "is refused"],
  "the removal of another finalizer,": [{ write: changes({ finalizers: [] }) }, "is refused"],
  "another label of a ScaledObject,": [{ write: changes({ labels: {} }) }, "is refused"],
  "another annotation of a ScaledObject,": [{ write: changes({ annotations: { c: "e" } }) }, "is refused"],
  "a removed annotation of a ScaledObject,": [{ write: changes({ annotations: {} }) }, "is refused"],
  "a new annotation of a ScaledObject,": [
    { write: changes({ annotations: { c: "d", "podfit.dev/scale": "true" } }) },
    "is refused",
  ],
  "podfit's record on a ScaledObject,": [
    { write: changes({ annotations: { c: "d", "podfit.dev/keda-metrics": "{}" } }) },
    "passes",
  ],
  "another owner of a ScaledObject,": [{ write: changes({ ownerReferences: [{ name: "x" }] }) }, "is refused"],
  "another spec of a ScaledObject,": [{ write: changes({}, { triggers: [] }) }, "is refused"],
};

const CENTRAL_TABLE = Object.fromEntries<readonly [Request, Answer]>([
  ...Object.entries(CENTRALS).map(([name, [request, answer]]) =>
    [`${name} by podfit,`, [{ username: AGENT, ...request }, answer]] as const
  ),
  ["a resize in kube-system by an administrator", [
    { username: ADMIN, write: resizes({}), namespace: "kube-system" },
    "is not looked at",
  ]],
]);

/** Besides resizes. */
const COVERED = {
  "central": ["*/scale: UPDATE", "scaledobjects: UPDATE", "horizontalpodautoscalers: DELETE"],
  "node-local": ["podresourceautoscalers/status: UPDATE", "leases: CREATE UPDATE", "events: CREATE UPDATE"],
  "sidecar": ["podresourceautoscalers/status: UPDATE", "leases: CREATE UPDATE", "events: CREATE UPDATE"],
} as const;

for (const [file, table] of [["central", CENTRAL_TABLE], ["node-local", NODE_LOCAL], ["sidecar", SIDECARS]] as const) {
  const [policy, binding] = read(file);
  Deno.test(`C54 a write under the policy ${file}`, async (t) => {
    for (const [name, [request, answer]] of Object.entries(table)) {
      await t.step(`${name} ${answer}`, () => assertEquals(judge(policy, request).answer, answer));
    }
  });
  Deno.test(`C54 the policy ${file} is bound, denies, and covers what podfit writes there`, () => {
    const { spec } = policy;
    assertEquals(spec.failurePolicy, "Fail");
    assertEquals(
      spec.matchConstraints.resourceRules.map(({ resources, operations }) => `${resources}: ${operations.join(" ")}`),
      ["pods/resize: UPDATE", ...COVERED[file]],
    );
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
  const excluded = judge(sidecar, { username: SIDECAR, token: OWN, namespaceLabels: EXCLUDED });
  assertStringIncludes(excluded.message, 'podfit resizes nothing in namespace "shop": it is excluded');
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
  const variables: Record<string, unknown> = {};
  context["variables"] = variables;
  for (const { name, expression } of spec.variables) variables[name] = evaluate(expression);
  for (const { expression, message, messageExpression } of spec.validations) {
    if (evaluate(expression) === true) continue;
    return {
      answer: "is refused",
      message: messageExpression === undefined ? message : String(evaluate(messageExpression)),
    };
  }
  return { answer: "passes", message: "" };
}

const ENVIRONMENT = ["request", "object", "oldObject", "namespaceObject", "variables"].reduce(
  (environment, name) => environment.registerVariable(name, "dyn"),
  new Environment(),
);

function toContext({ username, token, pod, write, namespace = "shop", namespaceLabels = {} }: Request) {
  const { name = "web-1", uid = "u1", node = "node1", labels } = pod ?? {};
  const old = {
    metadata: { name, namespace, uid, ...(labels !== undefined && { labels }) },
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
  const resize: Write = {
    resource: "pods",
    operation: "UPDATE",
    before: old,
    after: { ...old, metadata: { name, namespace, uid, labels: {} } },
  };
  const { resource, operation, before = null, after = null } = write ?? resize;
  return {
    request: { userInfo: { username, ...extra }, namespace, operation, resource: { resource } },
    oldObject: before,
    object: after,
    namespaceObject: { metadata: { labels: { "kubernetes.io/metadata.name": namespace, ...namespaceLabels } } },
  };
}
