/**
 * Makes up what external.metrics.k8s.io and custom.metrics.k8s.io answer, by the questions of the HPA's clients. The questions are
 * written here once more, so that podfit's own are compared with them.
 */
import { type AskedMetric, askedOf, type CoursePod, type CourseTick, type HpaSelector, targetOf } from "./course.ts";
import { parseMilli } from "../../../lib/units/quantity.ts";
import { FACTORS, type Load } from "./generate_usage.ts";
import type { Random } from "./random.ts";

interface SelectorCase {
  readonly selector?: HpaSelector;
  /** As a user writes it in a trigger. */
  readonly text: string;
  /** As it is asked: what apimachinery makes of it, and the same in other words. */
  readonly asked: readonly string[];
}

export const SELECTORS: readonly SelectorCase[] = [
  { text: "", asked: [""] },
  { selector: {}, text: "", asked: [""] },
  { selector: { matchLabels: { verb: "GET" } }, text: "verb=GET", asked: ["verb=GET"] },
  { selector: { matchLabels: { b: "2", a: "1" } }, text: "b = 2, a==1", asked: ["a=1,b=2"] },
  { selector: { matchLabels: { "example.com/tier": "" } }, text: "example.com/tier=", asked: ["example.com/tier="] },
  express("tier", "In", ["y", "x"], "tier in (y, x)", ["tier in (x,y)"]),
  express("tier", "In", ["x"], "tier in (x)", ["tier in (x)", "tier=x"]),
  express("tier", "NotIn", ["y", "x"], "tier notin (x,y)", ["tier notin (x,y)"]),
  express("tier", "NotIn", ["x"], "tier != x", ["tier notin (x)", "tier!=x"]),
  express("tier", "Exists", null, "tier", ["tier"]),
  express("tier", "DoesNotExist", null, "!tier", ["!tier"]),
];

function express(
  key: string,
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
  values: readonly string[] | null,
  text: string,
  asked: readonly string[],
): SelectorCase {
  return { selector: { matchExpressions: [{ key, operator, ...(values && { values }) }] }, text, asked };
}

/** Objects with the plural name of their kind; one that the cluster does not have is `null`. */
export const OBJECTS = [
  { object: { apiVersion: "v1", kind: "Service", name: "s" }, plural: "services" },
  { object: { kind: "Service", name: "s" }, plural: "services" },
  {
    object: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", name: "main" },
    plural: "ingresses.networking.k8s.io",
  },
  { object: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, plural: "deployments.apps" },
  { object: { apiVersion: "v1", kind: "Pod", name: "p0" }, plural: "pods" },
  { object: { apiVersion: "v1", kind: "Namespace", name: "other" }, plural: "namespaces" },
  { object: { apiVersion: "example.com/v1", kind: "Widget", name: "w" }, plural: null },
] as const;

/** Empty without a metric that is asked for. */
export function generateAnswers(random: Random, pods: readonly CoursePod[], now: Load): Partial<CourseTick> {
  const asked = now.spec.metrics.filter((metric): metric is AskedMetric => askedOf(metric) !== null);
  if (asked.length === 0) return {};
  const answers: Record<string, unknown> = {};
  const refusedAnswers: Record<string, unknown> = {};
  for (const metric of asked) {
    if (random.chance(0.05)) continue;
    const { body, isRefused } = generateBody(random, { metric, pods, now });
    for (const question of listQuestions(metric)) (isRefused ? refusedAnswers : answers)[question] = body;
  }
  return { answers, ...(Object.keys(refusedAnswers).length > 0 && { refusedAnswers }) };
}

const CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/n";

/** Path and query, decoded and encoded as Go's net/url does it. */
export function listQuestions(metric: AskedMetric): readonly string[] {
  const { name = "", text = "" } = askedOf(metric) ?? {};
  const selectors = SELECTORS.find((one) => one.text === text)?.asked ?? [];
  return selectors.map((selector) => {
    if (metric.type === "External") {
      return withQuery(`/apis/external.metrics.k8s.io/v1beta1/namespaces/n/${name}`, { labelSelector: selector });
    }
    const metricLabelSelector = selector;
    if (metric.type === "Pods") {
      return withQuery(`${CUSTOM}/pods/*/${name}`, { labelSelector: "app=a", metricLabelSelector });
    }
    const { describedObject } = metric.object;
    if (describedObject.kind === "Namespace") return withQuery(`${CUSTOM}/metrics/${name}`, { metricLabelSelector });
    const plural = OBJECTS.find(({ object }) => object.kind === describedObject.kind)?.plural ?? "widgets.example.com";
    return withQuery(`${CUSTOM}/${plural}/${describedObject.name}/${name}`, { metricLabelSelector });
  });
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

interface BodySetting {
  readonly metric: AskedMetric;
  readonly pods: readonly CoursePod[];
  readonly now: Load;
}

interface Body {
  readonly body: unknown;
  /** The contract calls it a failure, and the controller would count it. */
  readonly isRefused: boolean;
}

function generateBody(random: Random, setting: BodySetting): Body {
  const amounts = generateAmounts(random, setting);
  const body = toBody(setting.metric, amounts.map(({ of, milli }) => ({ of, value: toQuantity(random, milli) })));
  const { items } = body;
  const sum = amounts.reduce((total, { milli }) => total + milli, 0n);
  const [first] = items;
  let isRefused = sum > MAX_MILLI || amounts.some(({ milli }) => milli < 0n);
  if (first !== undefined && random.chance(0.03)) {
    const spoil = random.pick(SPOILS);
    spoil.change(first);
    isRefused ||= spoil.isCounted;
  }
  return { body: random.chance(0.01) ? { ...body, items: null } : body, isRefused };
}

export interface AnsweredItem {
  /** The pod or the object. */
  readonly of: string;
  /** A quantity. */
  readonly value: string | number;
}

interface AnswerBody {
  readonly items: readonly Record<string, unknown>[];
}

/** Returns the list of a metric's values as its API answers it. */
export function toBody(metric: AskedMetric, items: readonly AnsweredItem[]): AnswerBody {
  const { name } = askedOf(metric) ?? { name: "" };
  const timestamp = "2026-01-01T00:00:00Z";
  if (metric.type === "External") {
    const type = { kind: "ExternalMetricValueList", apiVersion: "external.metrics.k8s.io/v1beta1" };
    const toItem = ({ value }: AnsweredItem) => ({ metricName: name, metricLabels: {}, timestamp, value });
    return { ...type, metadata: {}, items: items.map(toItem) } as AnswerBody;
  }
  const type = { kind: "MetricValueList", apiVersion: "custom.metrics.k8s.io/v1beta2" };
  const kind = metric.type === "Pods" ? "Pod" : metric.object.describedObject.kind;
  const toItem = ({ of, value }: AnsweredItem) => {
    const describedObject = { kind, namespace: "n", name: of, apiVersion: "/v1" };
    return { describedObject, metric: { name, selector: null }, timestamp, value };
  };
  return { ...type, metadata: {}, items: items.map(toItem) } as AnswerBody;
}

/** What may be wrong with an item; `isCounted`: the controller takes no notice. */
const SPOILS: readonly { readonly isCounted: boolean; change(item: Record<string, unknown>): void }[] = [
  {
    isCounted: false,
    change: (item) => "metricName" in item ? item["metricName"] = "" : item["metric"] = { name: "" },
  },
  { isCounted: false, change: (item) => item["value"] = "NaN" },
  { isCounted: false, change: (item) => item["value"] = "1.5x" },
  { isCounted: true, change: (item) => item["value"] = null },
  {
    isCounted: true,
    change: (item) => "metricName" in item ? item["metricName"] = "other" : item["metric"] = { name: "other" },
  },
];

/** The most that the API's 64 bits hold. */
const MAX_MILLI = 2n ** 63n - 1n;

interface Amount {
  /** The pod or the object. */
  readonly of: string;
  readonly milli: bigint;
}

function generateAmounts(random: Random, { metric, pods, now }: BodySetting): readonly Amount[] {
  const target = readTarget(metric);
  const scale = (factor: number) => target * BigInt(Math.round(factor * 1000)) / 1000n;
  if (metric.type === "Pods") return generateOfPods(random, { pods, now, target, scale });
  const isByPod = targetOf(metric).type === "AverageValue";
  const exact = scale(random.pick(FACTORS)) * BigInt(isByPod ? now.status : 1) + random.pick([0n, 0n, 1n, -1n]);
  const usual = scale(now.load) * BigInt(random.pick([1, isByPod ? Math.max(1, now.status) : 1, 5]));
  const strange = random.pick([0n, 1n, -1n, -700n, 2n ** 53n + 1n, 9n * 10n ** 18n, MAX_MILLI, 10n ** 19n]);
  const isStrange = random.chance(0.05);
  const total = isStrange ? strange : now.isExact ? exact : usual;
  // More would be an overflow in the controller, and the largest number in podfit (M17).
  const countable = metric.type === "Object" && isByPod ? target * 2_000_000_000n : 2n ** 64n;
  const most = isStrange || countable < MAX_MILLI ? countable : MAX_MILLI;
  const milli = total < most ? total : most;
  if (metric.type === "Object") {
    const count = random.pick([...Array<number>(18).fill(1), 0, 2]);
    return Array.from({ length: count }, () => ({ of: metric.object.describedObject.name, milli }));
  }
  return splitUp(random, milli).map((part) => ({ of: "", milli: part }));
}

function readTarget(metric: AskedMetric): bigint {
  const target = targetOf(metric);
  const parsed = parseMilli(
    target.type === "Value" ? target.value : target.type === "AverageValue" && target.averageValue,
  );
  if (!parsed.ok) throw new RangeError(parsed.message);
  return parsed.milli;
}

/** Items that add up to the amount; rarely none. */
function splitUp(random: Random, milli: bigint): readonly bigint[] {
  const count = random.pick([...Array<number>(14).fill(1), 0, 2, 3, 3, 4, 30]);
  if (count === 0) return [];
  const part = milli / BigInt(count + random.whole(0, 2));
  return [...Array<bigint>(count - 1).fill(part), milli - part * BigInt(count - 1)];
}

interface PodsSetting extends Omit<BodySetting, "metric"> {
  readonly target: bigint;
  readonly scale: (factor: number) => bigint;
}

function generateOfPods(random: Random, { pods, now, target, scale }: PodsSetting): readonly Amount[] {
  const factor = now.isExact ? random.pick(FACTORS) : null;
  const amounts = pods.filter(() => !random.chance(now.isCalm ? 0.02 : 0.1)).map(({ name }): Amount => {
    const off = random.chance(0.1) ? random.pick([0n, 1n, -1n]) : 0n;
    const milli = scale(factor ?? now.load * random.between(0.5, 1.2)) + off;
    return { of: name, milli: random.chance(0.01) ? random.pick([0n, -700n, 10n ** 17n]) : milli };
  });
  // More would be an overflow in the controller, and the largest number in podfit (M17).
  const most = [target * 40_000_000n, 10n ** 17n].reduce((least, one) => one < least ? one : least);
  const bounded = amounts.map((one) => one.milli < most ? one : { ...one, milli: most });
  const unlisted = random.chance(0.05) ? [{ of: "gone", milli: scale(now.load) }] : [];
  const twice = random.chance(0.03) ? bounded.slice(0, 1).map(({ of }) => ({ of, milli: scale(1.5) })) : [];
  return [...bounded, ...unlisted, ...twice];
}

/** Any text, or JSON number, that is this amount of thousandths, or is rounded up to it. */
function toQuantity(random: Random, milli: bigint): string | number {
  const forms: (string | number)[] = [`${milli}m`, `${milli}m`, `${milli}e-3`];
  const [whole, rest] = [milli / 1000n, milli % 1000n];
  if (rest === 0n) {
    forms.push(`${whole}`, `${whole}`, `${whole}.0`, `${whole}E0`);
    if (whole % 1000n === 0n) forms.push(`${whole / 1000n}k`, `${whole / 1000n}e3`);
    if (whole % 1024n === 0n) forms.push(`${whole / 1024n}Ki`);
  }
  if (milli >= 0n) forms.push(`${whole}.${`${rest}`.padStart(3, "0")}`, `+${milli}m`);
  if (milli > 0n) forms.push(`${milli * 1000n - BigInt(random.whole(0, 999))}u`);
  if (milli >= 0n && milli < 10n ** 12n) forms.push(Number(milli) / 1000);
  return random.pick(forms);
}
