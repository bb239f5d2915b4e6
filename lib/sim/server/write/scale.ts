/** Writes to the scale of a workload: an object of a kind of its own, of which one field counts. */
import { type JsonObject, numberAt, objectAt, textAt } from "../../json.ts";
import { apiVersionOf } from "../kinds/resource_type.ts";
import { badRequest, cannotHandle, conflict, invalid, invalidValue } from "../refusal.ts";
import type { Entry } from "../store/entry.ts";
import { checkAddress } from "./objects.ts";
import { APPLY, cannotPatch, checkContentType, type Patch, patchWith, readApplied } from "./patch_object.ts";
import { findMisfit, pathsOf, SCALE, toScale } from "./read_scale.ts";
import { applyScale, nextOwners, type OwnedScale, toParentEntries } from "./scale_owners.ts";
import { updateObject, type WriteContext } from "./write.ts";

/** Replaces the scale of a workload. Throws a Refusal. */
export function updateScale(context: WriteContext, before: Entry, sent: JsonObject): Entry {
  checkKind(sent);
  const problem = findMisfit(sent, context);
  if (problem !== null) throw cannotHandle(SCALE, problem);
  const name = textAt(before.object, "metadata", "name");
  if (textAt(sent, "metadata", "name") === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  checkAddress(sent, { type: SCALE, namespace: context.namespace, name });
  return write(context, before, { sent, owners: nextOwners(context, before.object, sent) });
}

/** Patches the scale of a workload, or applies one to it. Throws a Refusal. */
export function patchScale(context: WriteContext, before: Entry, patch: Patch): Entry {
  checkContentType(patch.contentType, SCALE);
  if (patch.contentType === APPLY) {
    const applied = readApplied(patch, context);
    return write(context, before, applyScale(context, before.object, { applied, isForced: patch.isForced }));
  }
  const sent = patchWith(toScale(before.object, context.type), patch);
  const problem = findMisfit(sent, context);
  if (problem !== null) throw cannotPatch(JSON.stringify(sent), problem);
  return write(context, before, { sent, owners: nextOwners(context, before.object, sent) });
}

function checkKind(sent: JsonObject): void {
  const kind = textAt(sent, "kind") || SCALE.kind;
  const apiVersion = textAt(sent, "apiVersion") || apiVersionOf(SCALE);
  if (kind !== SCALE.kind) {
    const version = apiVersion.split("/").at(-1);
    const why = `converting (${version}.${kind}) to (autoscaling.Scale): unknown conversion`;
    throw badRequest(`${kind} in version "${version}" cannot be handled as a Scale: ${why}`);
  }
  if (apiVersion === apiVersionOf(SCALE)) return;
  const expected = `does not match the expected API version (${apiVersionOf(SCALE)})`;
  throw badRequest(`the API version in the data (${apiVersion}) ${expected}`);
}

function write(context: WriteContext, before: Entry, { sent, owners }: OwnedScale): Entry {
  const { type } = context;
  const { object } = before;
  const name = textAt(object, "metadata", "name");
  const replicas = numberAt(sent, "spec", "replicas") ?? 0;
  if (replicas < 0) {
    throw invalid(SCALE, name, [invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")]);
  }
  const uid = textAt(sent, "metadata", "uid");
  const own = textAt(object, "metadata", "uid");
  if (uid !== "" && uid !== own) {
    const key = `/registry/${type.plural}/${context.namespace}/${name}`;
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${own}`;
    const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
    throw conflict(type, name, error);
  }
  const metadata = { ...objectAt(object, "metadata") };
  const resourceVersion = textAt(sent, "metadata", "resourceVersion");
  const next = {
    ...withReplicas(object, pathsOf(type).replicas, replicas),
    metadata: { ...metadata, ...(resourceVersion === "" ? {} : { resourceVersion }) },
  };
  const managedFields = toParentEntries(context, object, owners);
  return updateObject(context, before, { sent: next, applied: { managedFields } });
}

/** The workload with so many replicas. */
function withReplicas(object: JsonObject, [key, ...rest]: readonly string[], replicas: number): JsonObject {
  if (key === undefined) return object;
  const below = objectAt(object, key);
  return { ...object, [key]: rest.length === 0 ? replicas : withReplicas(below, rest, replicas) };
}
