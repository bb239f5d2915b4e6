/**
 * Requests that the embedded API server must answer like a real one: each a sentence, and what is sent. They are sent in
 * this order, as each finds what the ones before it left. `NS` stands for the namespace, `uid(Pod/a)` and
 * `version(Pod/a)` for what the server asked last said of that object. No pod of theirs is ever scheduled.
 */
import { toManifest } from "../../support/manifests.ts";
import { type ApiRequest, APPLY, get, JSON_PATCH, MERGE, patch, post, put, remove, send, STRATEGIC } from "./ask.ts";

const PODS = "/api/v1/namespaces/NS/pods";
const MAPS = "/api/v1/namespaces/NS/configmaps";
const EVENTS = "/api/v1/namespaces/NS/events";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/NS/leases";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/NS/deployments";
const SETS = "/apis/apps/v1/namespaces/NS/statefulsets";
const DAEMONS = "/apis/apps/v1/namespaces/NS/daemonsets";
const SCALERS = "/apis/keda.kedify.io/v1alpha1/namespaces/NS/podresourceautoscalers";
const RANGES = "/api/v1/namespaces/NS/limitranges";

/** Of a watch. */
const INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";

type Json = Readonly<Record<string, unknown>>;

/** A container that runs before the others, and a sidecar. */
const INIT: readonly Json[] = [
  { name: "setup", image: "x:1", resources: { requests: { cpu: "20m" } } },
  { name: "proxy", image: "x:1", restartPolicy: "Always", resources: { requests: { cpu: "20m" } } },
];
const RESTARTING_INIT: readonly Json[] = [
  { name: "setup", image: "x:1", resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] },
];
/** The sizes of a pod as a whole. */
const OWN: Json = { limits: { cpu: "2", memory: "1Gi" } };

export const REQUESTS: readonly ApiRequest[] = [
  // Pods: what is filled in, and what is refused.
  post("a pod with a request and a limit", PODS, toPod("a", { requests: { cpu: "0.1" }, limits: { cpu: "500m" } })),
  post("a pod without any", PODS, toPod("b")),
  post("a Guaranteed pod", PODS, toPod("g", { limits: { cpu: "1.50", memory: "100000000" } })),
  post("quantities in odd spellings", PODS, toPod("odd", { requests: { cpu: 0.25, memory: "1.5Gi" } })),
  post("a tiny quantity", PODS, toPod("tiny", { requests: { cpu: "0.0001", memory: "1100m" } })),
  post("quantities of zero", `${PODS}?dryRun=All`, toPod("zero", { requests: { cpu: "0", memory: 0 } })),
  post("a pod that is there already", PODS, toPod("a")),
  post("a generated name in a namespace that is not there", "/api/v1/namespaces/NS-none/pods", toPod("a")),
  post(
    "a pod of many parts",
    PODS,
    toPod("parts", {}, {
      initContainers: [{ name: "side", image: "x:1", restartPolicy: "Always" }, { name: "init", image: "x" }],
      containers: [{
        name: "main",
        image: "registry.example/x@sha256:" + "0".repeat(64),
        ports: [{ containerPort: 80, name: "http" }],
        env: [{ name: "A", value: "1" }, { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
        readinessProbe: { httpGet: { port: 80 } },
        livenessProbe: { tcpSocket: { port: "http" } },
        resources: { limits: { memory: "64Mi" } },
        resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
      }],
      volumes: [{ name: "tmp", emptyDir: {} }],
    }),
  ),
  post(
    "a resize policy for memory alone",
    PODS,
    toPod("policy", { limits: { cpu: "1", memory: "64Mi" } }, {
      containers: [{
        name: "main",
        image: "x:1",
        resources: { limits: { cpu: "1", memory: "64Mi" } },
        resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
      }],
    }),
  ),
  post("no containers", PODS, { metadata: { name: "bad" }, spec: {} }),
  post("no name", PODS, { metadata: {}, spec: toPod("x").spec }),
  post("a container without a name or an image", PODS, toPod("bad", {}, { containers: [{}] })),
  post("a name in capitals", PODS, toPod("Bad")),
  post("the same container twice", PODS, toPod("bad", {}, { containers: [toContainer(), toContainer()] })),
  post("a container's bad name", PODS, toPod("bad", {}, { containers: [{ name: "a_b", image: "x" }] })),
  post("a restart policy nobody knows", PODS, toPod("bad", {}, { restartPolicy: "Sometimes" })),
  post("a request over its limit", PODS, toPod("bad", { requests: { cpu: "2" }, limits: { cpu: "1" } })),
  post("a negative request", PODS, toPod("bad", { requests: { memory: "-1" } })),
  post("a quantity that is none", PODS, toPod("bad", { requests: { cpu: "1x" } })),
  post("a bad label", PODS, { ...toPod("bad"), metadata: { name: "bad", labels: { "a b": "c" } } }),
  post("a label's bad value", PODS, { ...toPod("bad"), metadata: { name: "bad", labels: { d: "e f" } } }),
  post("the wrong kind", PODS, { kind: "Node", apiVersion: "v1", metadata: { name: "x" } }),
  post("another namespace in the object", PODS, { ...toPod("bad"), metadata: { name: "bad", namespace: "default" } }),
  post("no JSON", PODS, "{"),
  post("a resourceVersion on a new object", PODS, { ...toPod("bad"), metadata: { name: "bad", resourceVersion: "5" } }),
  post("a dry run", `${PODS}?dryRun=All`, toPod("dry")),
  get("what a dry run left", `${PODS}/dry`),

  // Reads.
  get("a pod", `${PODS}/a`),
  get("a pod that is not there", `${PODS}/none`),
  get("a kind that is not there", "/api/v1/namespaces/NS/nothings"),
  get("a group that is not there", "/apis/none.example/v1/nothings"),
  get("a subresource that is not there", `${PODS}/a/nothing`),
  get("the status of a pod", `${PODS}/a/status`),
  get("the resize of a pod", `${PODS}/a/resize`),
  get("a pod by fields", `${PODS}?fieldSelector=metadata.name=b`),
  get("pods by a field that is not empty", `${PODS}?fieldSelector=spec.nodeName!=,status.phase=Pending`),
  get("an unknown field", `${PODS}?fieldSelector=spec.foo=1`),
  get("a field selector that is none", `${PODS}?fieldSelector=foo`),
  get("pods by a label", `${PODS}?labelSelector=app%3Db`),
  get("pods by a set of labels", `${PODS}?labelSelector=app+in+(b,g),!other,app!=g`),
  get("a label selector that is none", `${PODS}?labelSelector=a%3D%3D%3Db`),
  get("a label selector with a bad operator", `${PODS}?labelSelector=app+near+(b)`),
  get("a label selector with a bad key", `${PODS}?labelSelector=-a%3Db`),
  get("the first two of a selection", `${PODS}?limit=2&labelSelector=app+in+(a,b,g)`),
  get("the rest of them", `${PODS}?limit=2&labelSelector=app+in+(a,b,g)&continue=TOKEN`),
  get("the first two of all", `${PODS}?limit=2`),
  get("a continue token that is none", `${PODS}?limit=2&continue=abc`),
  get("a limit that is none", `${PODS}?limit=abc`),
  get("a list at any version", `${PODS}?resourceVersion=0&fieldSelector=metadata.name=b`),
  get("a list not older than", `${PODS}?resourceVersion=version(Pod/a)&fieldSelector=metadata.name=b`),
  get("a match without a version", `${PODS}?resourceVersionMatch=NotOlderThan`),
  get("a match with a version of any", `${PODS}?resourceVersion=0&resourceVersionMatch=Exact`),
  get("an unknown match", `${PODS}?resourceVersion=1&resourceVersionMatch=Sometimes`),
  get("a version that is none", `${PODS}?resourceVersion=abc`),
  get("a pod at a version that is none", `${PODS}/a?resourceVersion=abc`),
  get("a match with a continue token", `${PODS}?resourceVersion=1&resourceVersionMatch=Exact&continue=TOKEN`),

  // Patches of pods.
  patch("a label by merge", MERGE, `${PODS}/a`, { metadata: { labels: { team: "x", app: null } } }),
  patch("the same again", MERGE, `${PODS}/a`, { metadata: { labels: { team: "x" } } }),
  patch("a label by strategic merge", STRATEGIC, `${PODS}/a`, { metadata: { labels: { app: "a" } } }),
  patch("an image", STRATEGIC, `${PODS}/a`, { spec: { containers: [{ name: "main", image: "x:2" }] } }),
  patch("an environment variable", STRATEGIC, `${PODS}/a`, {
    spec: { containers: [{ name: "main", env: [{ name: "A", value: "1" }] }] },
  }),
  patch("a request, past the subresource", STRATEGIC, `${PODS}/a`, toSize({ requests: { cpu: "200m" } })),
  patch("a list item without its key", STRATEGIC, `${PODS}/a`, { spec: { containers: [{ image: "x:3" }] } }),
  patch("an apiVersion that differs", MERGE, `${PODS}/a`, { apiVersion: "v2" }),
  patch("another name", MERGE, `${PODS}/a`, { metadata: { name: "c" } }),
  patch("another uid", MERGE, `${PODS}/a`, { metadata: { uid: "00000000-0000-0000-0000-000000000000" } }),
  patch("a stale version", MERGE, `${PODS}/a`, { metadata: { resourceVersion: "1", labels: { z: "1" } } }),
  patch("a version that is none", MERGE, `${PODS}/a`, { metadata: { resourceVersion: "x", labels: { z: "1" } } }),
  patch("a JSON patch", JSON_PATCH, `${PODS}/a`, [{ op: "add", path: "/metadata/labels/j", value: "1" }]),
  patch("a JSON patch whose test fails", JSON_PATCH, `${PODS}/a`, [{ op: "test", path: "/metadata/name", value: "b" }]),
  patch("a JSON patch of nothing there", JSON_PATCH, `${PODS}/a`, [{ op: "remove", path: "/metadata/labels/none" }]),
  patch("a JSON patch that is no list", JSON_PATCH, `${PODS}/a`, { op: "remove" }),
  patch("a patch that is a list", MERGE, `${PODS}/a`, []),
  patch("a patch that is no JSON", MERGE, `${PODS}/a`, "{"),
  patch("a pod that is not there", MERGE, `${PODS}/none`, {}),
  patch("with a content type of no patch", "application/json", `${PODS}/a`, {}),
  patch("a status", STRATEGIC, `${PODS}/a/status`, {
    status: { conditions: [{ type: "Ready", status: "False" }] },
  }),
  patch("a second condition", STRATEGIC, `${PODS}/a/status`, {
    status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "Test" }] },
  }),
  patch("a status past its subresource", MERGE, `${PODS}/a`, { status: { phase: "Running" } }),
  patch("a taken-back condition", STRATEGIC, `${PODS}/a/status`, {
    status: { conditions: [{ $patch: "delete", type: "Ready" }] },
  }),
  patch("a label by apply", APPLY, `${PODS}/a?fieldManager=applier`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a", labels: { applied: "1" } },
  }),
  patch("an apply over another's label", APPLY, `${PODS}/a?fieldManager=applier`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a", labels: { applied: "1", team: "y" } },
  }),
  patch("the same by force", APPLY, `${PODS}/a?fieldManager=applier&force=true`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a", labels: { team: "y" } },
  }),
  patch("an apply without a manager", APPLY, `${PODS}/a`, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }),

  // Updates.
  put("a pod without a version", `${PODS}/b`, toPod("b", {}, { activeDeadlineSeconds: 600 })),
  put("a stale pod", `${PODS}/b`, { ...toPod("b"), metadata: { name: "b", resourceVersion: "1" } }),
  put("a pod by another name", `${PODS}/b`, toPod("c")),
  put("a pod that is not there", `${PODS}/none`, toPod("none")),
  put("a pod's other command", `${PODS}/b`, toPod("b", {}, { containers: [{ ...toContainer(), command: ["x"] }] })),

  // Sizes. The rest of them is in the recorded refusals.
  patch("a smaller request", STRATEGIC, `${PODS}/a/resize`, toSize({ requests: { cpu: "50m" } })),
  patch("the same size in another spelling", STRATEGIC, `${PODS}/a/resize`, toSize({ requests: { cpu: "0.05" } })),
  patch("a memory request where none was", STRATEGIC, `${PODS}/a/resize`, toSize({ requests: { memory: "64Mi" } })),
  patch("another QoS class", STRATEGIC, `${PODS}/b/resize`, toSize({ requests: { cpu: "50m" } })),
  patch("a size and a label", STRATEGIC, `${PODS}/a/resize`, {
    metadata: { labels: { sized: "1" } },
    ...toSize({ requests: { cpu: "60m" } }),
  }),
  patch("a size without the limit it had", MERGE, `${PODS}/a/resize`, { spec: { containers: [toContainer()] } }),
  patch("a size of disk", STRATEGIC, `${PODS}/a/resize`, toSize({ requests: { "ephemeral-storage": "1Gi" } })),
  patch("a dry resize", STRATEGIC, `${PODS}/a/resize?dryRun=All`, toSize({ requests: { cpu: "70m" } })),
  patch("a resize policy", STRATEGIC, `${PODS}/policy/resize`, {
    spec: { containers: [{ name: "main", resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] }] },
  }),
  put(
    "a resize of a renamed container",
    `${PODS}/g/resize`,
    toPod("g", {}, { containers: [{ name: "c", image: "x" }] }),
  ),
  post("a pod with init containers", PODS, toPod("i", { requests: { cpu: "10m" } }, { initContainers: INIT })),
  patch("a size of an init container", STRATEGIC, `${PODS}/i/resize`, {
    spec: { initContainers: [{ name: "setup", resources: { requests: { cpu: "30m" } } }] },
  }),
  patch("a size of an init container without its request", MERGE, `${PODS}/i/resize`, {
    spec: {
      initContainers: [{ name: "setup", image: "x:1" }, { name: "proxy", image: "x:1", restartPolicy: "Always" }],
    },
  }),
  patch("a size of disk of a sidecar", STRATEGIC, `${PODS}/i/resize`, {
    spec: { initContainers: [{ name: "proxy", resources: { requests: { "ephemeral-storage": "1Gi" } } }] },
  }),
  post("an init container that a resize restarts", PODS, toPod("bad", {}, { initContainers: RESTARTING_INIT })),
  post("a pod with its own limits", PODS, toPod("o", { requests: { cpu: "10m" } }, { resources: OWN })),
  post("a pod whose own request is too small", PODS, toPod("bad", { requests: { cpu: "3" } }, { resources: OWN })),
  post(
    "a container whose limit is above that of its pod",
    PODS,
    toPod("bad", { limits: { cpu: "3" } }, { resources: OWN }),
  ),
  post("a pod with its own disk", PODS, toPod("bad", {}, { resources: { requests: { "ephemeral-storage": "1Gi" } } })),
  patch("a larger limit of a pod", STRATEGIC, `${PODS}/o/resize`, { spec: { resources: { limits: { cpu: "3" } } } }),
  patch("a pod's own request below its containers'", STRATEGIC, `${PODS}/o/resize`, {
    spec: { resources: { requests: { cpu: "5m" } } },
  }),
  patch("a pod without the limit it had", MERGE, `${PODS}/o/resize`, {
    spec: { resources: { limits: { cpu: null } } },
  }),
  patch("a pod without its own sizes", MERGE, `${PODS}/o/resize`, { spec: { resources: null } }),
  put("a resize of the whole pod", `${PODS}/g/resize`, toPod("g", { limits: { cpu: "2", memory: "100M" } })),

  // Finalizers and deletion.
  post("a map with a finalizer", MAPS, {
    metadata: { name: "held", finalizers: ["example.com/held"] },
    data: { a: "1" },
  }),
  remove("what a finalizer holds", `${MAPS}/held`),
  remove("what is being deleted", `${MAPS}/held`),
  patch("a finalizer added while it is deleted", MERGE, `${MAPS}/held`, {
    metadata: { finalizers: ["example.com/held", "example.com/more"] },
  }),
  patch("the last finalizer away", MERGE, `${MAPS}/held`, { metadata: { finalizers: null } }),
  get("what nothing holds any more", `${MAPS}/held`),
  post("a finalizer without a domain", MAPS, { metadata: { name: "bare", finalizers: ["held"] } }),
  remove("with another uid", `${PODS}/b`, { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } }),
  remove("with another version", `${PODS}/b`, { preconditions: { resourceVersion: "1" } }),
  remove("a dry run", `${PODS}/b?dryRun=All`),
  remove("a pod of no node", `${PODS}/b`, { preconditions: { uid: "uid(Pod/b)" } }),
  remove("what is gone", `${PODS}/b`),
  post("a pod bound to a node that is not there", PODS, toPod("bound", {}, { nodeName: "no-such-node" })),
  remove("a bound pod", `${PODS}/bound`),
  remove("a bound pod, sooner", `${PODS}/bound?gracePeriodSeconds=5`),
  remove("a bound pod, later", `${PODS}/bound?gracePeriodSeconds=20`),
  patch("a size while it ends", STRATEGIC, `${PODS}/bound`, { metadata: { labels: { ends: "1" } } }),
  remove("a bound pod at once", `${PODS}/bound?gracePeriodSeconds=0`),
  remove("a collection of pods by label", `${PODS}?labelSelector=app+in+(odd,tiny)`),
  remove("in the foreground", `${PODS}/g`, { propagationPolicy: "Foreground" }),

  // Kinds without a spec, and those that podfit writes.
  post("a config map", MAPS, { metadata: { name: "m" }, data: { a: "1" } }),
  put("a config map as it is", `${MAPS}/m`, { metadata: { name: "m" }, data: { a: "1" } }),
  put("a config map that is not there", `${MAPS}/n`, { metadata: { name: "n" } }),
  patch("a value away", MERGE, `${MAPS}/m`, { data: { a: null, b: "2" } }),
  post("a lease", LEASES, { metadata: { name: "l" }, spec: { holderIdentity: "a", leaseDurationSeconds: 15 } }),
  post("a lease that is there", LEASES, { metadata: { name: "l" } }),
  put("a lease at its version", `${LEASES}/l`, {
    metadata: { name: "l", resourceVersion: "version(Lease/l)" },
    spec: { holderIdentity: "b", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" },
  }),
  put("a lease at a stale version", `${LEASES}/l`, { metadata: { name: "l", resourceVersion: "1" }, spec: {} }),
  put("a lease without a version", `${LEASES}/l`, { metadata: { name: "l" }, spec: { holderIdentity: "c" } }),
  post("a lease of milliseconds", LEASES, { metadata: { name: "x" }, spec: { renewTime: "2026-01-01T00:00:00.000Z" } }),
  post("a lease of no time", LEASES, { metadata: { name: "x" }, spec: { leaseDurationSeconds: 0 } }),
  post("an event", EVENTS, toEvent("e")),
  post(
    "an event about another namespace",
    EVENTS,
    toEvent("x", { involvedObject: { namespace: "default", name: "a" } }),
  ),
  post(
    "a new event that lacks what it needs",
    `${EVENTS}?dryRun=All`,
    toEvent("x", { eventTime: "2026-01-01T00:00:00.000000Z" }),
  ),
  patch("an event's count", STRATEGIC, `${EVENTS}/e`, { count: 2 }),
  get("events of one reason", `${EVENTS}?fieldSelector=reason=Tested,involvedObject.name=a`),
  post("a limit range", RANGES, {
    metadata: { name: "r" },
    spec: { limits: [{ type: "Container", max: { cpu: "1" } }] },
  }),
  // The admission of a real API server learns of it by a watch of its own: a second later it surely has.
  get("the limit range, watched", `${RANGES}?watch=1&timeoutSeconds=1`),
  post("a pod within it", `${PODS}?dryRun=All`, toPod("ranged")),
  post("a pod over it", PODS, toPod("over", { requests: { cpu: "2" } })),
  remove("a limit range", `${RANGES}/r`),

  // Workloads without pods.
  post("a deployment", DEPLOYMENTS, toWorkload("Deployment", "d")),
  patch("an annotation of a deployment", MERGE, `${DEPLOYMENTS}/d`, { metadata: { annotations: { a: "1" } } }),
  patch("a label of a deployment", MERGE, `${DEPLOYMENTS}/d`, { metadata: { labels: { a: "1" } } }),
  patch(
    "an image of a deployment",
    STRATEGIC,
    `${DEPLOYMENTS}/d`,
    toTemplate({ name: "main", image: "x:2" }, { app: "d" }),
  ),
  patch("a new selector of a deployment", MERGE, `${DEPLOYMENTS}/d`, {
    spec: { selector: { matchLabels: { app: "e" } } },
  }),
  patch("replicas below zero", MERGE, `${DEPLOYMENTS}/d`, { spec: { replicas: -1 } }),
  get("the scale of a deployment", `${DEPLOYMENTS}/d/scale`),
  put("the same scale of a deployment", `${DEPLOYMENTS}/d/scale`, { metadata: { name: "d" }, spec: { replicas: 0 } }),
  patch("the same scale by patch", MERGE, `${DEPLOYMENTS}/d/scale`, { spec: { replicas: 0 } }),
  get("the scale of what is not there", `${DEPLOYMENTS}/none/scale`),
  post("a deployment without a selector", DEPLOYMENTS, { ...toWorkload("Deployment", "x"), spec: {} }),
  post(
    "a deployment of other labels",
    DEPLOYMENTS,
    toWorkload("Deployment", "x", { selector: { matchLabels: { b: "c" } } }),
  ),
  post("a stateful set", `${SETS}?dryRun=All`, toWorkload("StatefulSet", "s")),
  post("a daemon set", `${DAEMONS}?dryRun=All`, toWorkload("DaemonSet", "s", { replicas: undefined })),
  get("the scale of a daemon set", `${DAEMONS}/s/scale`),
  remove("a deployment", `${DEPLOYMENTS}/d`, { propagationPolicy: "Background" }),

  // Autoscalers.
  post("an autoscaler", SCALERS, toScaler("s")),
  patch("its threshold", MERGE, `${SCALERS}/s`, { spec: { policy: { cpu: { requests: { scaleUpThreshold: 90 } } } } }),
  patch("its status, past the subresource", MERGE, `${SCALERS}/s`, { status: { scaling: true } }),
  patch("its status", MERGE, `${SCALERS}/s/status`, { status: { scaling: true, lastScaleAction: "scaleUp" } }),
  patch("its spec through the status", MERGE, `${SCALERS}/s/status`, { spec: { paused: true } }),
  patch("its status the same", MERGE, `${SCALERS}/s/status`, { status: { scaling: true } }),
  patch("its label", MERGE, `${SCALERS}/s`, { metadata: { labels: { a: "b" } } }),
  patch("by strategic merge", STRATEGIC, `${SCALERS}/s`, {}),
  patch("an unknown field", MERGE, `${SCALERS}/s`, { spec: { colour: "red" } }),
  patch("an unknown field, strictly", MERGE, `${SCALERS}/s?fieldValidation=Strict`, { spec: { colour: "red" } }),
  patch("null for a default", MERGE, `${SCALERS}/s`, { spec: { paused: null } }),
  put("an autoscaler without a version", `${SCALERS}/s`, toScaler("s")),
  put("an autoscaler at its version", `${SCALERS}/s`, toScaler("s", "version(PodResourceAutoscaler/s)")),
  get("a list of autoscalers", SCALERS),
  get("an autoscaler by a field it has not", `${SCALERS}?fieldSelector=spec.paused=true`),
  remove("an autoscaler", `${SCALERS}/s`),

  // Watches: what changed since.
  post("a map to watch", MAPS, { metadata: { name: "w", labels: { watch: "1" } } }),
  patch("a change to watch", MERGE, `${MAPS}/w`, { data: { a: "1" } }),
  patch("a label away", MERGE, `${MAPS}/w`, { metadata: { labels: { watch: null } } }),
  patch("a label back", MERGE, `${MAPS}/w`, { metadata: { labels: { watch: "1" } } }),
  remove("a watched map", `${MAPS}/w`),
  get("all since the config map", `${MAPS}?watch=1&resourceVersion=version(ConfigMap/m)&timeoutSeconds=1`),
  get("those of a label", `${MAPS}?watch=1&resourceVersion=version(ConfigMap/m)&timeoutSeconds=1&labelSelector=watch`),
  get("one by name", `${MAPS}?watch=1&fieldSelector=metadata.name=m&timeoutSeconds=1`),
  get("a watch that begins with what there is", `${PODS}?watch=1&${INITIAL}&fieldSelector=metadata.name=a`),
  get("the same without a match", `${PODS}?watch=1&sendInitialEvents=true&timeoutSeconds=1`),
  get("a watch of no version", `${PODS}?watch=1&resourceVersion=abc&timeoutSeconds=1`),
  get("a watch of an unknown field", `${PODS}?watch=1&fieldSelector=spec.foo=1`),

  // Namespaces.
  get("the namespace", "/api/v1/namespaces/NS"),
  post("a namespace's bad name", "/api/v1/namespaces", { metadata: { name: "a.b" } }),
  patch("a namespace's label", MERGE, "/api/v1/namespaces/NS", { metadata: { labels: { a: "b" } } }),
  post("a dry namespace", "/api/v1/namespaces?dryRun=All", { metadata: { name: "NS-dry" } }),
  send("a collection of namespaces", "DELETE", "/api/v1/namespaces?dryRun=All&labelSelector=none=1"),
  send("a method nobody knows", "POST", `${PODS}/a`, {}),
];

function toContainer(resources: Json = {}): Json {
  return { name: "main", image: "x:1", resources };
}

function toPod(name: string, resources: Json = {}, spec: Json = {}): Json {
  return {
    metadata: { name, labels: { app: name } },
    spec: {
      containers: [toContainer(resources)],
      // Nobody binds it, and the volume of its token is the one thing that is not imitated.
      schedulerName: "nobody",
      automountServiceAccountToken: false,
      ...spec,
    },
  };
}

function toSize(resources: Json): Json {
  return { spec: { containers: [{ name: "main", resources }] } };
}

function toEvent(name: string, fields: Json = {}): Json {
  return {
    metadata: { name },
    involvedObject: { kind: "Pod", namespace: "NS", name: "a", apiVersion: "v1" },
    reason: "Tested",
    message: "It was",
    type: "Normal",
    count: 1,
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    ...fields,
  };
}

function toWorkload(kind: string, name: string, spec: Json = {}): Json {
  const labels = { app: name };
  return {
    // With an annotation, or the first would be the controller's.
    apiVersion: "apps/v1",
    kind,
    metadata: { name, labels, annotations: { a: "0" } },
    spec: { replicas: 0, selector: { matchLabels: labels }, ...toTemplate(toContainer(), labels).spec, ...spec },
  };
}

function toTemplate(container: Json, labels: Json = {}): { readonly spec: Json } {
  return { spec: { template: { metadata: { labels }, spec: { containers: [container] } } } };
}

function toScaler(name: string, resourceVersion?: string): Json {
  const manifest = toManifest({ "metadata.name": name });
  const metadata = { ...manifest.metadata as Json, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { ...manifest, metadata };
}
