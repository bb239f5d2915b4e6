/** The kinds of objects that are checked. */
import { parseAuthentication } from "../../scaled_object/parse_authentication.ts";
import { parseScaledObject } from "../../scaled_object/parse_scaled_object.ts";
import { API_VERSION, checkManifest, KIND } from "./autoscaler.ts";
import { type CheckedManifest, checkObject, type Manifest } from "./manifest.ts";

export interface CheckedKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** How the summary counts it. */
  readonly noun: Noun;
  /** Never throws. */
  readonly check: (manifest: Manifest) => CheckedManifest;
}

/** In the order of the summary. */
export const NOUNS = ["autoscaler", "scaled object", "trigger authentication"] as const;
export type Noun = typeof NOUNS[number];

const KEDA = "keda.sh/v1alpha1";

/** An object without kind is taken for the first of its group. */
export const CHECKED_KINDS: readonly CheckedKind[] = [
  { apiVersion: API_VERSION, kind: KIND, noun: "autoscaler", check: checkManifest },
  toKind("ScaledObject", "scaled object", parseScaledObject),
  toKind("TriggerAuthentication", "trigger authentication", parseAuthentication),
  toKind("ClusterTriggerAuthentication", "trigger authentication", parseAuthentication),
];

function toKind(kind: string, noun: Noun, parse: (manifest: Manifest) => CheckedManifest): CheckedKind {
  const check = (manifest: Manifest) => checkObject(manifest, { apiVersion: KEDA, kind, parse: toChecked(parse) });
  return { apiVersion: KEDA, kind, noun, check };
}

/** Parsers give more than lint asks for. */
function toChecked(parse: (manifest: Manifest) => CheckedManifest): (manifest: Manifest) => CheckedManifest {
  return (manifest) => {
    const { problems, warnings } = parse(manifest);
    return { problems, warnings };
  };
}
