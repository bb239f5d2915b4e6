/** What a command is asked about, in kubectl's words: `web-1`, `pod/web-1`, `deploy/web`, `scaledobject.keda.sh/web`. */
import { quote } from "../units/untrusted.ts";
import { parseSubdomain } from "./run/parse_values.ts";
import { StartError } from "./run/start_error.ts";

export type SubjectKind = "pod" | "deployment" | "statefulset" | "daemonset" | "scaledobject";

export interface Subject<Kind extends SubjectKind = SubjectKind> {
  readonly kind: Kind;
  readonly name: string;
}

/** kubectl's plural and short form, and the group with which `kubectl get -o name` writes the kind. */
const WORDS: Readonly<Record<SubjectKind, readonly string[]>> = {
  pod: ["pod", "pods", "po"],
  deployment: ["deployment", "deployments", "deploy", "deployment.apps"],
  statefulset: ["statefulset", "statefulsets", "sts", "statefulset.apps"],
  daemonset: ["daemonset", "daemonsets", "ds", "daemonset.apps"],
  scaledobject: ["scaledobject", "scaledobjects", "so", "scaledobject.keda.sh"],
};

/** A name alone is a pod's, where pods are among the kinds; a kind counts in any case. Throws a StartError that says what to write. */
export function parseSubject<Kind extends SubjectKind>(text: string, kinds: readonly Kind[]): Subject<Kind> {
  const parts = text.split("/");
  const [word = "", name = ""] = parts.length === 1 ? ["pod", text] : parts;
  const kind = kinds.find((one) => WORDS[one].includes(word.toLowerCase()));
  if (kind === undefined || parts.length > 2) {
    throw new StartError(`Cannot read ${quote(text)}: write ${describeSubjects(kinds)}`);
  }
  return { kind, name: parseSubdomain({ name: kind, text: name }, `name of a ${kind}`) };
}

/** `POD, pod/NAME or deployment/NAME` */
export function describeSubjects(kinds: readonly SubjectKind[]): string {
  const words = [...(kinds.includes("pod") ? ["POD"] : []), ...kinds.map((kind) => `${kind}/NAME`)];
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
