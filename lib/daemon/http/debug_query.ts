/** Which records does a request ask for? */
import type { Subject } from "../record/flight_recorder.ts";

/** What is wanted, or what is wrong with the question. */
export type DebugQuery =
  | { readonly kind: "latest"; readonly namespace: string | null }
  | { readonly kind: "one"; readonly subject: Subject; readonly isWatched: boolean; readonly withPast: boolean }
  | { readonly kind: "refused"; readonly message: string };

const FLAGS = ["watch", "past", "latest"] as const;
const NAMES = ["namespace", "pod", "scaledObject"] as const;
const USAGE = "ask for namespace=NS and pod=NAME or scaledObject=NAME, with watch=true to go on, or for latest=true";

/** Parses the query of `/debug/records`. */
export function parseDebugQuery(query: URLSearchParams): DebugQuery {
  const known: readonly string[] = [...FLAGS, ...NAMES];
  for (const key of query.keys()) {
    if (!known.includes(key)) return refuse(`unknown parameter "${key.slice(0, 64)}"`);
    if (query.getAll(key).length > 1) return refuse(`${key} is given twice`);
    if (query.get(key) === "") return refuse(`${key} is empty`);
  }
  for (const flag of FLAGS) {
    if (!["true", "false", null].includes(query.get(flag))) return refuse(`${flag} is neither true nor false`);
  }
  return toQuery(query);
}

function toQuery(query: URLSearchParams): DebugQuery {
  const [namespace, pod, scaledObject] = NAMES.map((name) => query.get(name));
  const [isWatched, isLatest] = [query.get("watch") === "true", query.get("latest") === "true"];
  const withPast = query.get("past") !== "false";
  if (pod && scaledObject) return refuse("pod and scaledObject do not go together");
  const name = pod ?? scaledObject ?? null;
  if (name === null) {
    if (!isLatest && !namespace) return refuse("nothing is asked for");
    return isWatched ? refuse("watch needs a pod or scaledObject") : { kind: "latest", namespace: namespace ?? null };
  }
  if (!namespace) return refuse("namespace is missing");
  if (isLatest) return refuse("latest is not for one pod or scaledObject");
  if (!withPast && !isWatched) return refuse("past=false is for watch=true");
  return { kind: "one", subject: { kind: pod ? "pod" : "scaledObject", namespace, name }, isWatched, withPast };
}

function refuse(why: string): DebugQuery {
  return { kind: "refused", message: `Cannot read the query: ${why}; ${USAGE}` };
}
