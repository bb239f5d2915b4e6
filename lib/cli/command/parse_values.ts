/**
 * What do the values of flags and variables mean?
 *
 * Each function returns the parsed value. It throws a StartError that names the flag, quotes the value and says what
 * to write.
 */
import type { MaxUnavailable } from "../../model/autoscaler.ts";
import { MAX_UNAVAILABLE_RULE, parseMaxUnavailable } from "../../resources/pod_resource_autoscaler/policy.ts";
import { type HostRule, parseHostRule } from "../../units/address.ts";
import { isText, LABEL_RULE, NAME_RULE } from "../../units/fields.ts";
import { formatAmount, parseAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import { parseDuration } from "../../units/time.ts";
import { quote } from "../../units/untrusted.ts";
import { StartError } from "./process.ts";

/** A value and where it was written: `--listen` or `PODFIT_LISTEN`. */
export interface FlagValue {
  readonly name: string;
  readonly text: string;
}

/** Accepts what Go's strconv.ParseBool accepts, as the product that reads these variables does. Throws a StartError. */
export function parseBoolean(written: FlagValue): boolean {
  const text = written.text.toLowerCase();
  if (["true", "t", "1"].includes(text)) return true;
  if (["false", "f", "0"].includes(text)) return false;
  throw refuse(written, "write true or false");
}

/** Returns one of the choices. Throws a StartError for anything else. */
export function parseChoice<T extends string>(written: FlagValue, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === written.text);
  if (found === undefined) {
    throw refuse(written, `write ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`);
  }
  return found;
}

/** Returns some of the choices, from a list with commas. Throws a StartError for anything else. */
export function parseChoices<T extends string>(written: FlagValue, choices: readonly T[]): readonly T[] {
  return written.text.split(",").map((part) => parseChoice({ name: written.name, text: part.trim() }, choices));
}

/** Returns the namespaces; `null` = all. Throws a StartError for an empty list, which could mean none or all. */
export function parseNamespaces(all: readonly FlagValue[]): readonly string[] | null {
  if (all.length === 0) return null;
  const names = new Set<string>();
  for (const written of all) {
    const parts = written.text.split(",").map((part) => part.trim()).filter((part) => part !== "");
    if (parts.length === 0) throw refuse(written, "it names no namespace");
    for (const part of parts) names.add(checkNamespace(part, written));
  }
  return [...names];
}

/** Returns rules that name servers, from lists with commas. Throws a StartError. */
export function parseHostRules(all: readonly FlagValue[]): readonly HostRule[] {
  return all.flatMap((written) =>
    written.text.split(",").map((part) => part.trim()).filter((part) => part !== "").map((part) => {
      const rule = parseHostRule(part);
      if (rule !== null) return rule;
      throw refuse(
        written,
        `"${part}" is not a host, a *.suffix or a range such as 10.0.0.0/8, with a port or without`,
      );
    })
  );
}

/** Returns the name of one namespace. Throws a StartError. */
export function parseNamespace(written: FlagValue): string {
  return checkNamespace(written.text, written);
}

/** Returns the name of one container. Throws a StartError. */
export function parseContainer(written: FlagValue): string {
  if (isText(written.text, LABEL_RULE)) return written.text;
  throw refuse(written, 'it is not a name of a container: lower case letters, digits and "-", at most 63');
}

/** Returns a DNS subdomain, the rule for most names. `what`: its noun in the error. Throws a StartError. */
export function parseSubdomain(written: FlagValue, what: string): string {
  if (!isText(written.text, NAME_RULE)) {
    throw refuse(written, `it is not a ${what}: lower case letters, digits, "-" and ".", at most 253`);
  }
  return written.text;
}

/** Returns the uid of an object. Throws a StartError. */
export function parseUid(written: FlagValue): string {
  if (!/^[\da-zA-Z-]{16,64}$/.test(written.text)) throw refuse(written, "it is not a uid, as in metadata.uid of a pod");
  return written.text;
}

/** Returns the pod; `null` = all. Throws a StartError. */
export function parsePod(written: FlagValue | null): { readonly namespace: string; readonly name: string } | null {
  if (written === null) return null;
  const [namespace = "", name = "", ...rest] = written.text.split("/");
  if (!isText(namespace, LABEL_RULE) || !isText(name, NAME_RULE) || rest.length > 0) {
    throw refuse(written, "write NAMESPACE/NAME of a pod, such as shop/web-7d9c5-x2x4p");
  }
  return { namespace, name };
}

/** Returns host and port. Without a host, every IPv4 address; port 0 takes any free one. Throws a StartError. */
export function parseListen(written: FlagValue): { readonly hostname: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]*)):(\d{1,5})$/.exec(written.text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw refuse(written, "write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  return { hostname: match[1] ?? (match[2] || "0.0.0.0"), port };
}

/** Returns the parsed value; `null` where nothing is written. */
export function parseOptional<T>(written: FlagValue | null, parse: (written: FlagValue) => T): T | null {
  return written === null ? null : parse(written);
}

/** Returns a duration of at least a millisecond, in ms. Throws a StartError. */
export function parseMs(written: FlagValue): number {
  const parsed = parseDuration(written.text);
  if (!parsed.ok || parsed.ms === 0) throw refuse(written, "write a duration such as 15s");
  return parsed.ms;
}

/** Returns a quantity above zero, in millicores or bytes. Throws a StartError. */
export function parseSize(written: FlagValue, resource: Resource): number {
  const parsed = parseAmount(written.text, resource);
  if (!parsed.ok || parsed.amount <= 0) {
    throw refuse(written, `write a quantity such as ${resource === "cpu" ? "8 or 500m" : "64Gi"}`);
  }
  return parsed.amount;
}

/** Returns a number of bytes within the range, both ends included. Throws a StartError. */
export function parseBytes(written: FlagValue, [least, most]: readonly [number, number]): number {
  const bytes = parseSize(written, "memory");
  if (bytes >= least && bytes <= most) return bytes;
  throw refuse(written, `write a quantity from ${formatAmount(least, "memory")} to ${formatAmount(most, "memory")}`);
}

/** Returns a whole number within the range, both ends included. Throws a StartError. */
export function parseWhole(written: FlagValue, [least, most]: readonly [number, number]): number {
  const number = /^\d{1,9}$/.test(written.text) ? Number(written.text) : NaN;
  if (!(number >= least && number <= most)) throw refuse(written, `write a whole number from ${least} to ${most}`);
  return number;
}

/** Returns a number of pods, or a percentage of them. Throws a StartError. */
export function parsePodCount(written: FlagValue): MaxUnavailable {
  const parsed = parseMaxUnavailable(written.text);
  if (parsed === null) throw refuse(written, `it ${MAX_UNAVAILABLE_RULE}`);
  return parsed;
}

/** Returns a number within the range, both ends included; fractions are allowed. Throws a StartError. */
export function parseBetween(written: FlagValue, [least, most]: readonly [number, number]): number {
  const number = /^\d+(\.\d+)?$/.test(written.text) ? Number(written.text) : NaN;
  if (!(number >= least && number <= most)) throw refuse(written, `write a number from ${least} to ${most}`);
  return number;
}

function checkNamespace(name: string, written: FlagValue): string {
  if (isText(name, LABEL_RULE)) return name;
  throw refuse(written, `"${name}" is not a namespace name: lower case letters, digits and "-", at most 63`);
}

function refuse({ name, text }: FlagValue, why: string): StartError {
  return new StartError(`Cannot read ${name} "${text}": ${why}`);
}

export type SubjectKind = "pod" | "deployment" | "statefulset" | "daemonset" | "scaledobject" | "podresourceautoscaler";

export interface Subject<Kind extends SubjectKind = SubjectKind> {
  readonly kind: Kind;
  readonly name: string;
}

/** kubectl's plural and short form, and the group with which `kubectl get -o name` writes the kind. */
const KIND_WORDS: Readonly<Record<SubjectKind, readonly string[]>> = {
  pod: ["pod", "pods", "po"],
  deployment: ["deployment", "deployments", "deploy", "deployment.apps"],
  statefulset: ["statefulset", "statefulsets", "sts", "statefulset.apps"],
  daemonset: ["daemonset", "daemonsets", "ds", "daemonset.apps"],
  scaledobject: ["scaledobject", "scaledobjects", "so", "scaledobject.keda.sh"],
  podresourceautoscaler: [
    "podresourceautoscaler",
    "podresourceautoscalers",
    "pra",
    "podresourceautoscaler.keda.kedify.io",
  ],
};

/** Where the objects of a kind are, in the order in which a bare name is searched. */
export const SUBJECT_PLACES: Readonly<Record<SubjectKind, readonly [prefix: string, plural: string]>> = {
  pod: ["/api/v1", "pods"],
  deployment: ["/apis/apps/v1", "deployments"],
  statefulset: ["/apis/apps/v1", "statefulsets"],
  daemonset: ["/apis/apps/v1", "daemonsets"],
  scaledobject: ["/apis/keda.sh/v1alpha1", "scaledobjects"],
  podresourceautoscaler: ["/apis/keda.kedify.io/v1alpha1", "podresourceautoscalers"],
};

/** Returns the kind that a user names by this word; `null` = none of the kinds. Case does not count. */
export function findSubjectKind<Kind extends SubjectKind>(word: string, kinds: readonly Kind[]): Kind | null {
  return kinds.find((one) => KIND_WORDS[one].includes(word.toLowerCase())) ?? null;
}

/**
 * Returns the subject of `deploy/web`, or of the words `deploy web`. A name without a kind is a pod's, if pods are among
 * the kinds. Case does not count. Throws a StartError.
 */
export function parseSubject<Kind extends SubjectKind>(
  words: readonly string[],
  kinds: readonly Kind[],
): Subject<Kind> {
  const parts = words.flatMap((one) => one.split("/"));
  const [word = "", name = ""] = parts.length === 1 ? ["pod", ...parts] : parts;
  const kind = findSubjectKind(word, kinds);
  if (kind === null || parts.length > 2) {
    throw new StartError(`Cannot read ${quote(words.join(" "))}: write ${describeSubjects(kinds)}`);
  }
  return { kind, name: parseSubdomain({ name: kind, text: name }, `name of a ${kind}`) };
}

/** `POD, pod/NAME or deployment/NAME` */
export function describeSubjects(kinds: readonly SubjectKind[]): string {
  const words = [...(kinds.includes("pod") ? ["POD"] : []), ...kinds.map((kind) => `${kind}/NAME`)];
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** A query for Prometheus. */
export interface PrometheusQuery {
  readonly url: string;
  readonly query: string;
  /** `null` = none, or made from the selector. */
  readonly memoryQuery: string | null;
}

/** Returns the query of `--from` and `--memory-query`. Throws a StartError for another source than Prometheus. */
export function parsePrometheusFlags(
  from: readonly string[] | undefined,
  bytes: string | undefined,
): PrometheusQuery | null {
  const memoryQuery = bytes ?? null;
  if (from === undefined) {
    if (memoryQuery !== null) throw new StartError("Cannot use --memory-query without --from prometheus");
    return null;
  }
  const [source, url, query, more] = from;
  if (source === "prometheus" && url !== undefined && query !== undefined && more === undefined) {
    return { url, query, memoryQuery };
  }
  const given = quote(from.join(" "));
  throw new StartError(`Cannot read --from ${given}: write --from prometheus URL QUERY, the query quoted`);
}

const DAY_HOURS = 24;

/** Returns `--for` in milliseconds. Days are allowed, which Go's durations lack. Throws a StartError. */
export function parseTimeSpan(text: string): number {
  const [, days] = /^(\d{1,3})d$/.exec(text) ?? [];
  const ms = parseMs({ name: "--for", text: days === undefined ? text : `${Number(days) * DAY_HOURS}h` });
  if (ms < 60_000) throw new StartError(`Cannot use --for ${quote(text)}: a minute is the least that says anything`);
  return ms;
}
