/**
 * Is a valid pod admitted? Limit ranges, the capacity of its node, and quotas are asked in this order.
 */
import { type JsonObject, listAt, objectAt, textAt } from "../../../lib/embedded/json.ts";
import { isDeepEqual } from "../../../lib/units/equality.ts";
import { parseAmounts, sumPod } from "../../../lib/embedded/quantities.ts";
import { forbidden } from "../../../lib/embedded/server/refusal.ts";
import type { Store } from "../../../lib/embedded/server/store.ts";
import { type Admission, checkCapacity } from "../../../lib/embedded/server/write/admission.ts";
import { formatAmount } from "../../../lib/units/quantity.ts";
import { NO_RESOURCES, type Resource, type ResourceField, type Resources } from "../../../lib/units/resources.ts";
import { findLimitFaults, giveDefaults } from "./limit_ranges.ts";

const PODS = { group: "", plural: "pods", kind: "Pod" };

/** The admission of a real server. */
export const ADMISSION: Admission = {
  giveDefaults: giveLimitDefaults,
  admit: admitPod,
  follow(store, { id, namespace, before, after }) {
    if (id === "/pods") followPod(store, namespace, { before, after });
    if (id === "/resourcequotas" && after !== null) recountQuotas(store, namespace);
  },
};

/** Fills in what the namespace's limit ranges give to a container without sizes. */
function giveLimitDefaults(store: Store, pod: JsonObject): void {
  for (const rule of listRules(store, pod)) giveDefaults(pod, rule);
}

/** Throws a Refusal. `before`: the pod as it was, on resize. */
function admitPod(store: Store, pod: JsonObject, before: JsonObject | null): void {
  const name = textAt(pod, "metadata", "name");
  const namespace = textAt(pod, "metadata", "namespace");
  const faults = listRules(store, pod).flatMap((rule) => findLimitFaults(pod, rule));
  if (faults.length > 0) {
    throw forbidden(PODS, name, faults.length === 1 ? String(faults[0]) : `[${faults.join(", ")}]`);
  }
  if (before !== null) checkCapacity(store, pod);
  for (const { object } of store.collection("/resourcequotas").list({ namespace })) {
    checkQuota(object, { pod, before });
  }
}

/** Counts again what a namespace's quotas have used, after a change of the quotas themselves. */
function recountQuotas(store: Store, namespace: string): void {
  const pods = store.collection("/pods").list({ namespace });
  const used: Record<string, number> = {};
  for (const { object } of pods) add(used, countPod(object), 1);
  writeQuotas(store, namespace, () => used);
}

/** Keeps them up to date after a change of one pod; `null` = it was not there before, or is not any more. */
function followPod(
  store: Store,
  namespace: string,
  { before, after }: { readonly before: JsonObject | null; readonly after: JsonObject | null },
): void {
  const change: Record<string, number> = {};
  if (after !== null) add(change, countPod(after), 1);
  if (before !== null) add(change, countPod(before), -1);
  if (Object.values(change).every((amount) => amount === 0)) return;
  writeQuotas(store, namespace, (used) => add({ ...used }, change, 1));
}

function writeQuotas(store: Store, namespace: string, next: (used: Counts) => Counts): void {
  for (const { object } of store.collection("/resourcequotas").list({ namespace })) {
    const hard = objectAt(object, "spec", "hard");
    const used = next(parseUsed(object));
    const told = Object.keys(hard).filter(isCounted).map((key) => [key, formatCount(used[key] ?? 0, key)]);
    const status = { hard, used: Object.fromEntries(told) };
    if (!isDeepEqual(status, object.status)) store.put("/resourcequotas", { ...object, status });
  }
}

function listRules(store: Store, pod: JsonObject): readonly JsonObject[] {
  return store.collection("/limitranges").list({ namespace: textAt(pod, "metadata", "namespace") })
    .flatMap(({ object }) => listAt(object, "spec", "limits"));
}

type Counts = Readonly<Record<string, number>>;

const COUNTED: Readonly<Record<string, ResourceField>> = {
  cpu: "cpu.requests",
  memory: "memory.requests",
  "requests.cpu": "cpu.requests",
  "requests.memory": "memory.requests",
  "limits.cpu": "cpu.limits",
  "limits.memory": "memory.limits",
};

function checkQuota(
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
        : listAt(pod, "spec", "containers").filter(({ resources }) => parseAmounts(resources)[side] === null);
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
  const used = parseUsed(quota);
  const [now, old] = [countPod(pod), before === null ? {} : countPod(before)];
  const increase = (key: string) => (now[key] ?? 0) - (old[key] ?? 0);
  const exceeded = keys.filter((key) => increase(key) > 0 && (used[key] ?? 0) + increase(key) > parseCount(hard, key));
  if (exceeded.length === 0) return;
  const tell = (amount: (key: string) => number) =>
    exceeded.map((key) => `${key}=${formatCount(amount(key), key)}`).join(",");
  const why = `exceeded quota: ${textAt(quota, "metadata", "name")}, requested: ${tell(increase)}, ` +
    `used: ${tell((key) => used[key] ?? 0)}, limited: ${tell((key) => parseCount(hard, key))}`;
  throw forbidden(PODS, name, why);
}

function isCounted(key: string): boolean {
  return key === "pods" || key in COUNTED;
}

/** The counts of the quota's own status, which a real server uses, too. */
function parseUsed(quota: JsonObject): Counts {
  const used = objectAt(quota, "status", "used");
  return Object.fromEntries(Object.keys(used).map((key) => [key, parseCount(used, key)]));
}

function add(total: Record<string, number>, amounts: Counts, sign: 1 | -1): Counts {
  for (const [key, amount] of Object.entries(amounts)) total[key] = (total[key] ?? 0) + sign * amount;
  return total;
}

/** A pod that has ended counts no more. */
function countPod(pod: JsonObject): Counts {
  if (["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"))) return {};
  const amounts: Resources = pod.spec === undefined ? NO_RESOURCES : sumPod(pod);
  return { pods: 1, ...Object.fromEntries(Object.entries(COUNTED).map(([key, side]) => [key, amounts[side] ?? 0])) };
}

/** One that cannot be read holds nothing back. */
function parseCount(counts: JsonObject, key: string): number {
  if (key === "pods") return Number(counts[key]);
  const side = COUNTED[key] ?? "cpu.requests";
  const resource = toResource(key);
  return parseAmounts({ [side.slice(resource.length + 1)]: { [resource]: counts[key] ?? null } })[side] ?? Infinity;
}

function formatCount(amount: number, key: string): string {
  return key === "pods" ? String(amount) : formatAmount(amount, toResource(key));
}

function toResource(key: string): Resource {
  return key.endsWith("cpu") ? "cpu" : "memory";
}
