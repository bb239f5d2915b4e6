/**
 * What stands between a valid pod and the store: limit ranges, the capacity of its node (on resize), quotas; asked in
 * this order, each in the words of 1.36.3.
 */
import { formatAmount } from "../../units/quantity.ts";
import { NO_RESOURCES, type Resource, type Resources, type SideKey } from "../../units/resources.ts";
import { type JsonObject, listAt, objectAt, textAt } from "./json.ts";
import { readAmounts, sumPod } from "./quantities.ts";
import { findLimitFaults, giveDefaults } from "./limit_ranges.ts";
import { forbidden } from "./refusal.ts";
import type { Store } from "./store.ts";

const PODS = { group: "", plural: "pods", kind: "Pod" };

/** Fills in what the namespace's limit ranges give to a container without. */
export function giveLimitDefaults(store: Store, pod: JsonObject): void {
  for (const rule of listRules(store, pod)) giveDefaults(pod, rule);
}

/** Throws a Refusal. `before`: the pod as it was, on resize. */
export function admitPod(store: Store, pod: JsonObject, before: JsonObject | null): void {
  const name = textAt(pod, "metadata", "name");
  const namespace = textAt(pod, "metadata", "namespace");
  const faults = listRules(store, pod).flatMap((rule) => findLimitFaults(pod, rule));
  if (faults.length > 0) {
    throw forbidden(PODS, name, faults.length === 1 ? String(faults[0]) : `[${faults.join(", ")}]`);
  }
  if (before !== null) checkCapacity(store, pod);
  for (const { object } of store.collection("/resourcequotas").list({ namespace })) {
    checkQuota(store, object, { pod, before });
  }
}

/** Brings `status.used` of a namespace's quotas up to date. */
export function refreshQuotas(store: Store, namespace: string): void {
  for (const { object } of store.collection("/resourcequotas").list({ namespace })) {
    const hard = objectAt(object, "spec", "hard");
    const used = countUsed(store, namespace);
    const told = Object.fromEntries(
      Object.keys(hard).filter(isCounted).map((key) => [key, formatCount(used[key] ?? 0, key)]),
    );
    const status = { hard, used: told };
    if (JSON.stringify(status) !== JSON.stringify(object.status)) store.put("/resourcequotas", { ...object, status });
  }
}

function listRules(store: Store, pod: JsonObject): readonly JsonObject[] {
  return store.collection("/limitranges").list({ namespace: textAt(pod, "metadata", "namespace") })
    .flatMap(({ object }) => listAt(object, "spec", "limits"));
}

/** Only on the node where it runs already: a pod that waits is the scheduler's affair. */
function checkCapacity(store: Store, pod: JsonObject): void {
  const node = store.collection("/nodes").get(null, textAt(pod, "spec", "nodeName"));
  if (node === null) return;
  const allocatable = readAmounts({ requests: objectAt(node.object, "status", "allocatable") });
  const wanted = sumPod(pod);
  const faults = (["cpu", "memory"] as const).flatMap((resource) => {
    const [has, asked] = [allocatable[`${resource}.requests`], wanted[`${resource}.requests`]];
    return has === null || asked === null || asked <= has
      ? []
      : [`${resource}, requested: ${asked}, allocatable: ${has}`];
  });
  if (faults.length === 0) return;
  const why = `node didn't have enough allocatable resources: ${faults.join("; ")}`;
  throw forbidden(PODS, textAt(pod, "metadata", "name"), why, [{ reason: "NodeCapacity" }]);
}

type Counts = Readonly<Record<string, number>>;

const COUNTED: Readonly<Record<string, SideKey>> = {
  cpu: "cpu.requests",
  memory: "memory.requests",
  "requests.cpu": "cpu.requests",
  "requests.memory": "memory.requests",
  "limits.cpu": "cpu.limits",
  "limits.memory": "memory.limits",
};

function checkQuota(
  store: Store,
  quota: JsonObject,
  { pod, before }: { readonly pod: JsonObject; readonly before: JsonObject | null },
): void {
  const name = textAt(pod, "metadata", "name");
  const hard = objectAt(quota, "spec", "hard");
  const keys = Object.keys(hard).filter(isCounted).sort();
  if (before === null) {
    const unset = keys.flatMap((key) => {
      const side = COUNTED[key];
      const lacking = side === undefined
        ? []
        : listAt(pod, "spec", "containers").filter(({ resources }) => readAmounts(resources)[side] === null);
      return lacking.length === 0 ? [] : [`${key} for: ${lacking.map((one) => textAt(one, "name")).join(",")}`];
    });
    if (unset.length > 0) {
      throw forbidden(
        PODS,
        name,
        `failed quota: ${textAt(quota, "metadata", "name")}: must specify ${unset.join("; ")}`,
      );
    }
  }
  const used = countUsed(store, textAt(pod, "metadata", "namespace"));
  const [now, old] = [countPod(pod), before === null ? {} : countPod(before)];
  const increase = (key: string) => (now[key] ?? 0) - (old[key] ?? 0);
  const exceeded = keys.filter((key) => increase(key) > 0 && (used[key] ?? 0) + increase(key) > readHard(hard, key));
  if (exceeded.length === 0) return;
  const tell = (amount: (key: string) => number) =>
    exceeded.map((key) => `${key}=${formatCount(amount(key), key)}`).join(",");
  const why = `exceeded quota: ${textAt(quota, "metadata", "name")}, requested: ${tell(increase)}, ` +
    `used: ${tell((key) => used[key] ?? 0)}, limited: ${tell((key) => readHard(hard, key))}`;
  throw forbidden(PODS, name, why);
}

function isCounted(key: string): boolean {
  return key === "pods" || key in COUNTED;
}

function countUsed(store: Store, namespace: string): Counts {
  const total: Record<string, number> = {};
  for (const { object } of store.collection("/pods").list({ namespace })) {
    for (const [key, amount] of Object.entries(countPod(object))) total[key] = (total[key] ?? 0) + amount;
  }
  return total;
}

/** A pod that has ended counts no more. */
function countPod(pod: JsonObject): Counts {
  if (["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"))) return {};
  const amounts: Resources = pod.spec === undefined ? NO_RESOURCES : sumPod(pod);
  return { pods: 1, ...Object.fromEntries(Object.entries(COUNTED).map(([key, side]) => [key, amounts[side] ?? 0])) };
}

function readHard(hard: JsonObject, key: string): number {
  if (key === "pods") return Number(hard[key]);
  const side = COUNTED[key] ?? "cpu.requests";
  const resource = toResource(key);
  return readAmounts({ [side.slice(resource.length + 1)]: { [resource]: hard[key] ?? null } })[side] ?? Infinity;
}

function formatCount(amount: number, key: string): string {
  return key === "pods" ? String(amount) : formatAmount(amount, toResource(key));
}

function toResource(key: string): Resource {
  return key.endsWith("cpu") ? "cpu" : "memory";
}
