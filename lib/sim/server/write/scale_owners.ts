/**
 * Who owns the replicas of a workload that is written through its scale. The entries are kept with the workload, as
 * managedfields/scalehandler.go of apimachinery does it: an owner by /scale has no time there, a zero has no owner, and
 * what nobody owns stays so until it is applied.
 */
import { type JsonObject, listAt, numberAt, objectAt, textAt } from "../../json.ts";
import { apiVersionOf } from "../kinds/resource_type.ts";
import { applyObject } from "./apply.ts";
import { readTree, toTree } from "./fields.ts";
import { inOrder, takeAway, toEntry, trackUpdate, type Writer } from "./managed_fields.ts";
import { pathsOf, SCALE, toScale } from "./read_scale.ts";
import { toWriter, type WriteContext } from "./write.ts";

/** A scale as it is to be, and who then owns its replicas. */
export interface OwnedScale {
  readonly sent: JsonObject;
  /** As entries of the scale. */
  readonly owners: readonly JsonObject[];
}

/** The owners after an update. */
export function nextOwners(context: WriteContext, object: JsonObject, sent: JsonObject): readonly JsonObject[] {
  const owners = readOwners(context, object);
  if (owners.length === 0) return [];
  const before = { ...pickReplicas(toScale(object, context.type)), metadata: { managedFields: [...owners] } };
  return trackUpdate(before, pickReplicas(sent), toScaleWriter(context));
}

/** Applies a scale. Throws a Refusal for replicas that others own. */
export function applyScale(
  context: WriteContext,
  object: JsonObject,
  { applied, isForced }: { readonly applied: JsonObject; readonly isForced: boolean },
): OwnedScale {
  const scale = toScale(object, context.type);
  const writer: Writer = { ...toScaleWriter(context), operation: "Apply" };
  const known = readOwners(context, object);
  const first = toEntry({ ...toScaleWriter(context), manager: "before-first-apply" }, new Set([REPLICAS]));
  const owners = known.length > 0 || numberAt(scale, "spec", "replicas") === null ? known : [first];
  const live = { ...pickReplicas(scale), metadata: { managedFields: [...owners] } };
  const { object: merged, managedFields } = applyObject(live, pickReplicas(applied), { writer, isForced });
  return { sent: { ...scale, spec: objectAt(merged, "spec") }, owners: managedFields };
}

/** The entries of the workload when these own its replicas. */
export function toParentEntries(
  context: WriteContext,
  object: JsonObject,
  owners: readonly JsonObject[],
): readonly JsonObject[] {
  const path = toPath(context);
  const entries = listAt(object, "metadata", "managedFields");
  const kept = entries.flatMap((entry) =>
    owners.some((owner) => isSameOwner(owner, entry)) ? [entry] : takeAway(entry, [new Set([path])])
  );
  const added = owners.filter((owner) => !entries.some((entry) => isSameOwner(owner, entry))).map((owner) => {
    const { time: _time, ...entry } = owner;
    return { ...entry, apiVersion: apiVersionOf(context.type), fieldsV1: toTree(new Set([path])) };
  });
  return inOrder([...kept, ...added]);
}

/** The path in a scale. */
const REPLICAS = "f:spec\nf:replicas";

/** The path in the workload. */
function toPath({ type }: WriteContext): string {
  return pathsOf(type).replicas.map((key) => `f:${key}`).join("\n");
}

function toScaleWriter(context: WriteContext): Writer {
  return { ...toWriter(context), apiVersion: apiVersionOf(SCALE) };
}

function readOwners(context: WriteContext, object: JsonObject): readonly JsonObject[] {
  const path = toPath(context);
  return listAt(object, "metadata", "managedFields").filter((entry) => readTree(entry.fieldsV1).has(path))
    .map((entry) => ({ ...entry, apiVersion: apiVersionOf(SCALE), fieldsV1: toTree(new Set([REPLICAS])) }));
}

function pickReplicas(scale: JsonObject): JsonObject {
  const replicas = numberAt(scale, "spec", "replicas") ?? 0;
  return { spec: replicas === 0 ? {} : { replicas } };
}

function isSameOwner(one: JsonObject, other: JsonObject): boolean {
  return ["manager", "operation", "subresource"].every((key) => textAt(one, key) === textAt(other, key));
}
