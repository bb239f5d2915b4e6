/** What some kinds have beside themselves: the binding of a pod, tokens of service accounts. */
import { formatTime } from "../../../units/time.ts";
import { isObject, type Json, type JsonObject, listAt, numberAt, objectAt, openAt, textAt } from "../../json.ts";
import { badRequest, conflict } from "../refusal.ts";
import type { Entry } from "../store/entry.ts";
import type { WriteContext } from "./write.ts";

/** Binds a pod to a node, as a scheduler asks. That is no field of any manager and begins no generation. */
export function bindPod({ store, type, now, isDryRun }: WriteContext, before: Entry, binding: JsonObject): void {
  const { object } = before;
  const name = textAt(object, "metadata", "name");
  const bound = textAt(object, "spec", "nodeName");
  if (bound !== "") {
    const why = `pod ${name} is already assigned to node ${JSON.stringify(bound)}`;
    throw conflict({ ...type, plural: "pods/binding" }, name, why);
  }
  const node = textAt(binding, "target", "name");
  if (node === "") throw badRequest("target.name: Required value");
  const others = listAt(object, "status", "conditions").filter(({ type }) => type !== "PodScheduled");
  const scheduled = {
    type: "PodScheduled",
    status: "True",
    observedGeneration: numberAt(object, "metadata", "generation") ?? 1,
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  };
  if (isDryRun) return;
  store.put("/pods", {
    ...object,
    spec: { ...objectAt(object, "spec"), nodeName: node },
    status: { ...objectAt(object, "status"), conditions: [...others, scheduled] },
  });
}

/** A TokenRequest with its answer. */
export function toTokenAnswer(
  request: Json,
  { token, now }: { readonly token: string; readonly now: number },
): JsonObject {
  const answer: JsonObject = isObject(request) ? structuredClone(request) : {};
  const seconds = numberAt(answer, "spec", "expirationSeconds") ?? 3600;
  openAt(answer, "spec").expirationSeconds = seconds;
  answer.status = { token, expirationTimestamp: formatTime(now + seconds * 1000) };
  return { ...answer, kind: "TokenRequest", apiVersion: "authentication.k8s.io/v1" };
}
