/**
 * What do scenarios run on? A Backend is a cluster with its clock and a way to start podfit beside it: the real one of
 * KUBECONFIG, or the embedded one of lib/embedded, in process and under virtual time. `E2E_BACKEND` chooses: `embedded` or
 * `real`, which is the default. Scenarios never ask which one it is.
 */
import type { Clock } from "../../../lib/runtime/clock.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import type { Limits } from "./objects.ts";

export interface Backend extends AsyncDisposable {
  readonly clock: Pick<Clock, "now" | "monotonic" | "sleep">;
  /** Body of a GET of the API server, e.g. `/api/v1/nodes`; `null` when there is no such object, throws otherwise. */
  get(path: string): Promise<string | null>;
  /** Lines of a watch, until it is disposed of or the server ends it. */
  watch(path: string): Watching;
  /** Creates or changes; manifests without a namespace get this one. Throws a Refusal. */
  apply(namespace: string, manifests: readonly Manifest[]): Promise<void>;
  patch(object: ObjectRef, change: Change): Promise<void>;
  /** Begins the deletion; an object that is not there is deleted already. */
  delete(object: ObjectRef): Promise<void>;
  /** Ready for pods. */
  createNamespace(name: string): Promise<void>;
  /** Where things stand in a namespace, for the message of a failed scenario; never throws. */
  describe(namespace: string): Promise<string>;
  /** A container whose load grows beyond its memory limit is killed. */
  setLoad(pod: LoadRef, load: Load): Promise<void>;
  /** What the kernel enforces on it. */
  readLimits(pod: LoadRef): Promise<Limits>;
  startPodfit(options: ProcessOptions): Process;
  /** The cgroups of the node that podfit runs on, where podfit can read them. */
  mountCgroups(): Promise<CgroupMount>;
  /** The API server as its administrator reaches it, for requests that nothing else here can send. */
  connect(): Promise<ApiServer>;
  /** A way in for podfit as this service account, which has to exist. */
  openAccount(account: AccountRef): Promise<Account>;
}

/** A service account. */
export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
  /** The token is bound to this pod, which runs by the account: it names the pod and its node. Real clusters alone. */
  readonly pod?: string;
}

export interface CgroupMount extends AsyncDisposable {
  /** What podfit's `--cgroup-root` takes. */
  readonly root: string;
}

export interface Account extends AsyncDisposable {
  /** What podfit's `--kubeconfig` takes. */
  readonly kubeconfig: string;
  /** What podfit's `--kubelet-token-file` takes. */
  readonly tokenFile: string;
}

/** A container of the load image; its port is another one than those of its pod's other containers. */
export interface LoadRef {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface Load {
  readonly cpuMillicores?: number;
  readonly memoryMiB?: number;
}

export interface Watching extends AsyncDisposable {
  readonly lines: AsyncIterable<string>;
}

export interface ObjectRef {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

export type Kind = keyof typeof COLLECTIONS;

/** Where the API server keeps them. */
export const COLLECTIONS = {
  Pod: "/api/v1/*/pods",
  Event: "/api/v1/*/events",
  Namespace: "/api/v1/namespaces",
  ServiceAccount: "/api/v1/*/serviceaccounts",
  LimitRange: "/api/v1/*/limitranges",
  ResourceQuota: "/api/v1/*/resourcequotas",
  Deployment: "/apis/apps/v1/*/deployments",
  StatefulSet: "/apis/apps/v1/*/statefulsets",
  DaemonSet: "/apis/apps/v1/*/daemonsets",
  ScaledObject: "/apis/keda.sh/v1alpha1/*/scaledobjects",
  TriggerAuthentication: "/apis/keda.sh/v1alpha1/*/triggerauthentications",
  HorizontalPodAutoscaler: "/apis/autoscaling/v2/*/horizontalpodautoscalers",
  PodDisruptionBudget: "/apis/policy/v1/*/poddisruptionbudgets",
  Secret: "/api/v1/*/secrets",
  PodResourceAutoscaler: "/apis/keda.kedify.io/v1alpha1/*/podresourceautoscalers",
  CustomResourceDefinition: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  Role: "/apis/rbac.authorization.k8s.io/v1/*/roles",
  RoleBinding: "/apis/rbac.authorization.k8s.io/v1/*/rolebindings",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  ValidatingAdmissionPolicy: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  ValidatingAdmissionPolicyBinding: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
} as const;

export function toPath({ kind, namespace, name }: ObjectRef): string {
  return `${toCollection(kind, namespace)}/${name}`;
}

/** `namespace` is of no use for kinds without one. */
export function toCollection(kind: Kind, namespace: string): string {
  return COLLECTIONS[kind].replace("*", `namespaces/${namespace}`);
}

export interface Change {
  readonly type: "merge" | "strategic";
  readonly subresource?: "status" | "resize";
  readonly patch: Readonly<Record<string, unknown>>;
}

export type Manifest = Readonly<Record<string, unknown>>;

/** The API server's own words. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

export interface ProcessOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Every line it writes to its log. */
  readonly onLine: (line: string) => void;
}

/** A GET of podfit's own server. */
export interface Question {
  readonly path: string;
  /** A bearer token. */
  readonly token?: string;
  /** Of who vouches for its certificate, where it speaks HTTPS. */
  readonly caCert?: string;
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** What a question has for headers. */
export function toHeaders({ token }: Question): Headers {
  return new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` });
}

/** A podfit that was started. */
export interface Process {
  /** How it ended, in words; `null` while it runs. */
  readonly ended: () => string | null;
  /** Body of a GET of its own server, which listens at this address; throws on any status but 2xx. */
  readonly get: (address: string, path: string) => Promise<string>;
  /** Any answer of its own server. */
  readonly ask: (address: string, question: Question) => Promise<Reply>;
  /** Resolves at its end: the exit code, or `null` if it had to be ended by force. */
  readonly end: (signal: "SIGTERM" | "SIGKILL") => Promise<number | null>;
}

export type BackendName = "real" | "embedded";

export const BACKEND: BackendName = Deno.env.get("E2E_BACKEND") === "embedded" ? "embedded" : "real";

let current: Backend | null = null;

/** The backend of the scenario that runs; scenarios of one file run one after the other. */
export function backend(): Backend {
  if (current === null) throw new Error("Cannot use a cluster outside of a scenario");
  return current;
}

export async function withBackend<T>(chosen: Backend, run: () => Promise<T>): Promise<T> {
  current = chosen;
  try {
    return await run();
  } finally {
    current = null;
  }
}
