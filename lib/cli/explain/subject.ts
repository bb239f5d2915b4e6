/** What `podfit explain` is asked about: `web-1`, `pod/web-1`, `deployment/web`, `statefulset/db`, `scaledobject/web`. */
import { parseSubdomain } from "../run/parse_values.ts";
import { StartError } from "../run/start_error.ts";

export interface Subject {
  readonly kind: "pod" | "deployment" | "statefulset" | "scaledobject";
  readonly name: string;
}

/** As kubectl has them, too. */
const KINDS: Readonly<Record<string, Subject["kind"]>> = {
  pod: "pod",
  pods: "pod",
  po: "pod",
  deployment: "deployment",
  deployments: "deployment",
  deploy: "deployment",
  statefulset: "statefulset",
  statefulsets: "statefulset",
  sts: "statefulset",
  scaledobject: "scaledobject",
  scaledobjects: "scaledobject",
  so: "scaledobject",
};

/** Throws a StartError that names what there is. */
export function parseSubject(text: string): Subject {
  const [first = "", second] = text.split("/");
  const [kind, name] = second === undefined ? ["pod", first] : [first, second];
  const known = Object.hasOwn(KINDS, kind.toLowerCase()) ? KINDS[kind.toLowerCase()] : undefined;
  if (known === undefined || text.split("/").length > 2) {
    throw new StartError(
      `Cannot explain "${text}": give POD, pod/NAME, deployment/NAME, statefulset/NAME or scaledobject/NAME`,
    );
  }
  return { kind: known, name: parseSubdomain({ name: "explain", text: name }, "name") };
}
