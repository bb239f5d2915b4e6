/**
 * What do the containers of a pod ask for, and the pod as a whole? Scheduler, quotas and limit ranges count alike.
 */
import { parseAmount } from "../units/quantity.ts";
import { NO_RESOURCES, resourceOf, type Resources, SIDE_KEYS, sideOf } from "../units/resources.ts";
import { at, type Json, type JsonObject, listAt, objectAt, textAt } from "./json.ts";

/** The amounts of a container, or of a pod's own `resources`. */
export function readAmounts(resources: Json | undefined): Resources {
  return SIDE_KEYS.reduce<Resources>((amounts, key) => {
    const parsed = parseAmount(at(resources, sideOf(key), resourceOf(key)) ?? null, resourceOf(key), { floats: true });
    return parsed.ok ? { ...amounts, [key]: parsed.amount } : amounts;
  }, NO_RESOURCES);
}

/** The sum that the scheduler and quotas count: containers and sidecars, or an init container if it needs more. */
export function sumPod({ spec }: JsonObject): Resources {
  const own = readAmounts(objectAt(spec, "resources"));
  const sum = listAt(spec, "containers").map(({ resources }) => readAmounts(resources)).reduce(addUp, NO_RESOURCES);
  let [total, sidecars] = [sum, NO_RESOURCES];
  let peak = NO_RESOURCES;
  for (const container of listAt(spec, "initContainers")) {
    const amounts = readAmounts(container.resources);
    if (textAt(container, "restartPolicy") === "Always") {
      [total, sidecars] = [addUp(total, amounts), addUp(sidecars, amounts)];
    } else peak = pickLarger(peak, addUp(sidecars, amounts));
  }
  const all = pickLarger(total, peak);
  return Object.fromEntries(SIDE_KEYS.map((key) => [key, own[key] ?? all[key]])) as unknown as Resources;
}

function addUp(a: Resources, b: Resources): Resources {
  return combine(a, b, (one, other) => one + other);
}

function pickLarger(a: Resources, b: Resources): Resources {
  return combine(a, b, Math.max);
}

function combine(a: Resources, b: Resources, join: (a: number, b: number) => number): Resources {
  const joined = SIDE_KEYS.map((key) => {
    const [one, other] = [a[key], b[key]];
    return [key, one === null ? other : other === null ? one : join(one, other)];
  });
  return Object.fromEntries(joined) as Resources;
}
