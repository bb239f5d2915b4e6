/** Which policies does a sweep try? Every combination of the values of its fields, put into the given manifests. */
import { isRecord } from "../../../units/untrusted.ts";
import { StartError } from "../../run/start_error.ts";

/** An autoscaler's manifest, unchecked. */
export type Manifest = Readonly<Record<string, unknown>>;

/** One policy to be tried. */
export interface Candidate {
  /** What it changes: `profile=thrifty scaleUp.targetUtilization=60`. */
  readonly name: string;
  readonly manifests: readonly Manifest[];
}

/** One field with the values to be tried; `null` = as it is. */
export interface Axis {
  readonly field: string;
  readonly values: readonly (string | number | boolean | null)[];
}

/** The profiles, each as it is and with what people change first. */
export const BUILT_IN: readonly Axis[] = [
  { field: "profile", values: ["latency", "balanced", "thrifty"] },
  { field: "cpu.requests.scaleUp.targetUtilization", values: [null, 65, 75, 85] },
  { field: "scaleDown.cooldown", values: [null, "1m", "10m"] },
];

const MOST = 10_000;
const FIELD = /^[a-zA-Z]+(\.[a-zA-Z]+)*$/;

/** Reads `FIELD=VALUE,VALUE`; throws a StartError for anything else. */
export function parseAxis(text: string): Axis {
  const at = text.indexOf("=");
  const [field, list] = [text.slice(0, at), text.slice(at + 1)];
  const values = list.split(",").map((value) => value.trim());
  if (at < 0 || !FIELD.test(field) || values.some((value) => value === "")) {
    throw new StartError(
      `Cannot read --sweep "${text}": write FIELD=VALUE,VALUE, such as scaleUp.targetUtilization=60,70`,
    );
  }
  return { field, values: values.map(toValue) };
}

/** What is given first, then every combination. Throws a StartError for too many. */
export function listCandidates(manifests: readonly Manifest[], axes: readonly Axis[]): readonly Candidate[] {
  const count = axes.reduce((product, { values }) => product * values.length, 1);
  if (count > MOST) throw new StartError(`Cannot sweep ${count} policies: at most ${MOST}; name fewer values`);
  let combinations: readonly Settings[] = [[]];
  for (const { field, values } of axes) {
    combinations = combinations.flatMap((one) => values.map((value): Settings => [...one, [field, value]]));
  }
  return [{ name: "as given", manifests }, ...combinations.map((settings) => toCandidate(manifests, settings))];
}

type Settings = readonly (readonly [field: string, value: Axis["values"][number]])[];

function toCandidate(manifests: readonly Manifest[], settings: Settings): Candidate {
  const changes = settings.filter(([, value]) => value !== null);
  return {
    name: changes.map(([field, value]) => `${field}=${value}`).join(" "),
    manifests: manifests.map((manifest) => changes.reduce((one, [field, value]) => set(one, field, value), manifest)),
  };
}

/** Fields of the spec itself; every other one is the policy's. */
const OF_SPEC = ["profile", "mode", "newPods", "bounds", "policy", "containerName", "priority"];

/** Another profile takes the place of the policy that was written for itself. */
function set(manifest: Manifest, field: string, value: unknown): Manifest {
  const keys = field.split(".");
  const path = OF_SPEC.includes(keys[0] ?? "") ? ["spec", ...keys] : ["spec", "policy", ...keys];
  if (field !== "profile" || !isRecord(manifest.spec)) return setAt(manifest, path, value);
  const { policy: _, ...spec } = manifest.spec;
  return { ...manifest, spec: { ...spec, profile: value } };
}

function setAt(object: Manifest, [key = "", ...rest]: readonly string[], value: unknown): Manifest {
  if (rest.length === 0) return { ...object, [key]: value };
  const inner = object[key];
  return { ...object, [key]: setAt(isRecord(inner) ? inner : {}, rest, value) };
}

function toValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
