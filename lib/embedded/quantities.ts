/** How much do the containers of a pod ask for, and how does the API server spell a quantity? */
import { parseAmount, parseSuffix } from "../units/quantity.ts";
import { NO_RESOURCES, requestOrLimitOf, RESOURCE_FIELDS, resourceOf, type Resources } from "../units/resources.ts";
import { at, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from "./json.ts";

/** The amounts of a container, or of a pod's own `resources`. */
export function parseAmounts(resources: Json | undefined): Resources {
  return RESOURCE_FIELDS.reduce<Resources>((amounts, key) => {
    const parsed = parseAmount(at(resources, requestOrLimitOf(key), resourceOf(key)) ?? null, resourceOf(key), {
      floats: true,
    });
    return parsed.ok ? { ...amounts, [key]: parsed.amount } : amounts;
  }, NO_RESOURCES);
}

/** The sum that the scheduler and quotas count: containers and sidecars, or an init container if it needs more. */
export function sumPod({ spec }: JsonObject): Resources {
  const own = parseAmounts(objectAt(spec, "resources"));
  const sum = listAt(spec, "containers").map(({ resources }) => parseAmounts(resources)).reduce(addUp, NO_RESOURCES);
  let [total, sidecars] = [sum, NO_RESOURCES];
  let peak = NO_RESOURCES;
  for (const container of listAt(spec, "initContainers")) {
    const amounts = parseAmounts(container.resources);
    if (textAt(container, "restartPolicy") === "Always") {
      [total, sidecars] = [addUp(total, amounts), addUp(sidecars, amounts)];
    } else peak = pickLarger(peak, addUp(sidecars, amounts));
  }
  const all = pickLarger(total, peak);
  return Object.fromEntries(RESOURCE_FIELDS.map((key) => [key, own[key] ?? all[key]])) as unknown as Resources;
}

/** The API server's message for a text that is not a quantity. */
export const BAD_QUANTITY =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** The text that a pod's spec has afterwards: rounded up to 1m, `0.5` as `500m`; `null` for no quantity. */
export function canonicalQuantity(value: Json | undefined): string | null {
  const text = typeof value === "number" ? String(value) : value;
  // Digits or zeros without end would take time without end.
  if (typeof text !== "string" || text.length > MAX_LENGTH) return null;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (!/^[+-]?\.?\d/.test(text)) return null;
  const scale = parseSuffix(suffix);
  if (scale === null || scale.exponent > MAX_EXPONENT || scale.exponent < -MAX_EXPONENT) return null;
  const power = Number(scale.exponent) - fraction.length;
  const { factor } = scale;
  if (factor === 1n && power % 3 === 0 && power >= -3 && isKept(whole, fraction)) return text;
  const exponent = power + 3;
  const digits = BigInt(whole + fraction) * factor;
  const divisor = exponent < 0 ? 10n ** BigInt(-exponent) : 1n;
  const milli = (digits * (exponent > 0 ? 10n ** BigInt(exponent) : 1n) + divisor - 1n) / divisor;
  return milli === 0n ? "0" : `${sign === "-" ? "-" : ""}${formatMilli(milli, factor > 1n)}`;
}

/** Equal as the API server sees it: requests and limits by value, everything else as JSON. */
export function isSameMeaning(a: Json | undefined, b: Json | undefined, isSize = false): boolean {
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length &&
      keys.every((key) =>
        Object.hasOwn(b, key) && isSameMeaning(a[key], b[key], isSize || key === "requests" || key === "limits")
      );
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => isSameMeaning(one, b[index]));
  }
  if (a === b || !isSize) return a === b;
  const [one, other] = [parseAmount(a, "cpu", { floats: true }), parseAmount(b, "cpu", { floats: true })];
  return one.ok && other.ok && one.amount === other.amount;
}

/** The lists of quantities in these resources, in the server's spelling; false when one cannot be read. */
export function rewriteQuantities(resources: JsonObject): boolean {
  for (const side of ["requests", "limits"]) {
    const list = resources[side];
    if (!isObject(list)) continue;
    for (const [name, value] of Object.entries(list)) {
      const text = canonicalQuantity(value);
      if (text === null) return false;
      list[name] = text;
    }
  }
  return true;
}

function addUp(a: Resources, b: Resources): Resources {
  return combine(a, b, (one, other) => one + other);
}

function pickLarger(a: Resources, b: Resources): Resources {
  return combine(a, b, Math.max);
}

function combine(a: Resources, b: Resources, join: (a: number, b: number) => number): Resources {
  const joined = RESOURCE_FIELDS.map((key) => {
    const [one, other] = [a[key], b[key]];
    return [key, one === null ? other : other === null ? one : join(one, other)];
  });
  return Object.fromEntries(joined) as Resources;
}

const QUANTITY = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*[+-]?[0-9]*)$/;

const MAX_LENGTH = 64;

const MAX_EXPONENT = 99n;

const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Measured: digits that do not end in 0, at a power of a thousand down to 1m, keep their spelling. */
function isKept(whole: string, fraction: string): boolean {
  return whole !== "" && !/0$/.test(whole + fraction);
}

function formatMilli(milli: bigint, isBinary: boolean): string {
  if (isBinary && milli % 1000n === 0n) {
    let [amount, unit] = [milli / 1000n, -1];
    while (amount % 1024n === 0n && unit < BINARY.length - 1) [amount, unit] = [amount / 1024n, unit + 1];
    return `${amount}${BINARY[unit] ?? ""}`;
  }
  let [amount, unit] = [milli, DECIMAL.indexOf("m")];
  while (amount % 1000n === 0n && unit < DECIMAL.length - 1) [amount, unit] = [amount / 1000n, unit + 1];
  return `${amount}${DECIMAL[unit]}`;
}
