/** Parses spec.scaleTargetRef (R2). Whether the target is there and serves /scale is found out later (R6). */
import type { Fields } from "../units/fields.ts";
import type { Problem } from "../units/problem.ts";
import { ANY_TEXT, openObject } from "./findings.ts";
import type { Target } from "./scaled_object.ts";

/** Gives the target; `null` where it could not be read. Problems are reported to `spec`; never throws. */
export function parseScaleTarget(spec: Fields, warnings: Problem[]): Target | null {
  const target = openObject(spec, "scaleTargetRef", { known: TARGET_FIELDS, warnings });
  if (target === null) return null;
  target.require(["name"]);
  const name = target.text("name", WORKLOAD_RULE);
  return name === null ? null : {
    apiVersion: readText(target, "apiVersion", API_VERSION_RULE) ?? "apps/v1",
    kind: readText(target, "kind", KIND_RULE) ?? "Deployment",
    name,
    envContainer: readText(target, "envSourceContainerName", ANY_TEXT),
  };
}

const TARGET_FIELDS = ["name", "apiVersion", "kind", "envSourceContainerName"];
/** What the API server takes for a segment of a path. */
const WORKLOAD_RULE = {
  max: 253,
  pattern: /^(?!\.\.?$)[^/%]+$/,
  rule: `must be the name of a workload, without "/" and "%"`,
};
const API_VERSION_RULE = {
  max: 253,
  pattern: /^([A-Za-z0-9.-]+\/)?[A-Za-z0-9]+$/,
  rule: "must be a group and a version, such as apps/v1",
};
const KIND_RULE = { max: 63, pattern: /^[A-Za-z0-9]+$/, rule: "must be a kind, such as Deployment" };

/** An empty text is an absent one, as in Go. */
function readText(fields: Fields, key: string, rule: typeof ANY_TEXT): string | null {
  return fields.get(key) === "" ? null : fields.text(key, rule);
}
