/** What is wrong with one autoscaler of a file, as the parser and the API server see it? */
import { parseAutoscaler } from "../../autoscaler/parse_autoscaler.ts";
import { advise } from "../../autoscaler/advice.ts";
import { type CheckedManifest, checkObject, type Manifest } from "./manifest.ts";

export const API_VERSION = "keda.kedify.io/v1alpha1";
export const KIND = "PodResourceAutoscaler";

/** Gives everything that is wrong with an autoscaler; paths are those within it. Never throws. */
export function checkManifest(manifest: Manifest): CheckedManifest {
  return checkObject(manifest, { apiVersion: API_VERSION, kind: KIND, parse });
}

function parse(manifest: Manifest): CheckedManifest {
  const parsed = parseAutoscaler(manifest);
  if (!parsed.ok) return { problems: parsed.problems, warnings: [] };
  return { problems: [], warnings: parsed.warnings, advice: advise(parsed.autoscaler) };
}
