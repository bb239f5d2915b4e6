/** Slips in who is tracked and by whom (C10 to C16). */
import type { Mutations } from "../../tools/mutation.ts";

export const PODS: Mutations = {
  C10: [
    {
      breaks: "overlooks a selector whose labels have other values",
      in: "Workloads.set",
      find: "formatSelector(before) !== formatSelector(selector)",
      replace: "before.requirements.length !== selector.requirements.length",
      test: "a changed selector of the target drops the pods that no longer match (C10, C11)",
    },
  ],
  C11: [
    {
      breaks: "tracks a pod of too many containers",
      in: "ClusterCache.#isEligible",
      find: "pod.containers.length <= MAX_POD_CONTAINERS",
      replace: "pod.containers.length > 0",
      test: "a pod of 5,000 containers costs 200 autoscalers no more than a pod of one container (C11)",
    },
    {
      breaks: "tracks pods without the annotation",
      in: "ClusterCache.#isSuitable",
      find: "!this.#options.requiresAnnotation",
      replace: "pod.nodeName !== null",
      test: "createDaemon() looks after the pods that match, and no others (C11, C15)",
    },
    {
      breaks: "takes any value of the annotation",
      in: "parsePod",
      find: '=== "enabled"',
      replace: "!== undefined",
      test: "createDaemon() looks after the pods that match, and no others (C11, C15)",
    },
    {
      breaks: 'takes "false" for a demand of the annotation',
      in: "getRunEnvironment",
      find: 'isTrue("PRA_REQUIRES_ANNOTATED_PODS")',
      replace: 'read("PRA_REQUIRES_ANNOTATED_PODS") !== null',
      test: "PRA_ENABLED is off unless it says true (C14); so is PRA_REQUIRES_ANNOTATED_PODS (C11)",
    },
    {
      breaks: "keeps the state of a pod that is dropped",
      in: "PodController.drop",
      find: "this.#states.delete",
      replace: "this.#states.find",
      test: "evaluate() begins anew for a pod that was dropped and came back (C11)",
    },
  ],
  C12: [
    {
      breaks: "prefers the lowest priority",
      in: "compareAutoscalers",
      find: "b.priority - a.priority",
      replace: "a.priority - b.priority",
      test: "chooseOwner() takes the higher priority (C12)",
    },
    {
      breaks: "asks who is eligible before the priority",
      in: "compareAutoscalers",
      find:
        "if (a.priority !== b.priority) return b.priority - a.priority; if (a.isWildcard !== b.isWildcard) return a.isWildcard ? 1 : -1; const [first, second] = [computeEligibleAt(a, context), computeEligibleAt(b, context)]; if (first !== second) return first - second",
      replace:
        "const [first, second] = [computeEligibleAt(a, context), computeEligibleAt(b, context)]; if (first !== second) return first - second; if (a.priority !== b.priority) return b.priority - a.priority",
      test: "chooseOwner() takes the higher priority though it is eligible later (C12)",
    },
    {
      breaks: "prefers who is eligible last",
      in: "compareAutoscalers",
      find: "first - second",
      replace: "second - first",
      test: "chooseOwner() takes the one eligible earlier (C12)",
    },
    {
      breaks: "takes one whose gate is shut for eligible",
      in: "computeEligibleAt",
      find: "Infinity",
      replace: "now",
      test: "chooseOwner() takes the one whose gate has opened (C12)",
    },
    {
      breaks: "prefers the greater name",
      in: "compareAutoscalers",
      find: "-1 : a.name > b.name ? 1",
      replace: "1 : a.name > b.name ? -1",
      test: "chooseOwner() takes the smaller name when nothing differs (C12)",
    },
    {
      breaks: "has one owner per pod",
      in: "listCases",
      find: "if (own === null) continue;",
      replace: "if (own === null || cases.length > 0) continue;",
      test: "decideSize() resizes the second as soon as the first is enacted, its own cooldown untouched (C12, C42)",
    },
  ],
  C13: [
    {
      breaks: "is not Ready while paused",
      in: "computeReady",
      find: '"True", reason: "Paused"',
      replace: '"False", reason: "Paused"',
      test: "nextStatus() says Ready, Active, Scaling, Metrics (C51) when",
    },
  ],
  C14: [
    {
      breaks: "is enabled unless told not to be",
      in: "getRunEnvironment",
      find: 'isTrue("PRA_ENABLED")',
      replace: 'read("PRA_ENABLED") !== "false"',
      test: "PRA_ENABLED is off unless it says true (C14); so is PRA_REQUIRES_ANNOTATED_PODS (C11)",
    },
  ],
  C15: [
    {
      breaks: "finds no sidecar",
      in: "findContainer",
      find: '!== "init"',
      replace: '=== "container"',
      test: "decideSize() resizes a native sidecar and never a plain init container (C15)",
    },
    {
      breaks: "takes every init container for a sidecar",
      in: "parseContainers",
      find: '"Always" ? "sidecar" : "init"',
      replace: 'undefined ? "init" : "sidecar"',
      test: "readPod() tells native sidecars from plain init containers (C15)",
    },
    {
      breaks: "patches a sidecar under containers",
      in: "toResizePatch",
      find: '=== "container"',
      replace: '!== "init"',
      test: "toResizePatch() has, guarded by uid and resourceVersion (C40)",
    },
  ],
  C16: [
    {
      breaks: "waits for ever for a resize that was lost with etcd",
      in: "ClusterCache.#hasGoneBack",
      find: "Math.max(shown, resized)",
      replace: "shown",
      test: "expectResize() forgets a pod once a newer version or a newer list shows it without the resize (C16)",
    },
    {
      breaks: "takes a list for newer than the resize that it was asked for before",
      in: "ClusterCache.replacePods",
      find: "begunMs > expected.atMs",
      replace: "begunMs > 0",
      test: "expectResize() forgets a pod once a newer version or a newer list shows it without the resize (C16)",
    },
    {
      breaks: "takes a list for as new as its last page",
      in: "watchList",
      find: "if (listing.pages === 0) listing.begunMs",
      replace: "listing.begunMs",
      test: "watchList() gives the time at which the first page of a list was asked for (C16)",
    },
  ],
  C17: [
    {
      breaks: "says nothing of a sidecar whose pod lacks the label",
      in: "createSkippedPodSink",
      find: "if (why !== null && !isSaid)",
      replace: "if (why === null)",
      test: "a sidecar leaves a pod without the label alone, which the podfit for the cluster resizes (C17)",
    },
    {
      breaks: "resizes as a sidecar what others do not know to be its own",
      in: "explainOtherPodfit",
      find: "isOfSidecar(pod) === isSidecar",
      replace: "isSidecar || !isOfSidecar(pod)",
      test: "a sidecar leaves its pod without the label alone, and says why (C17)",
    },
    {
      breaks: "takes any mode for that of a sidecar",
      in: "isOfSidecar",
      find: "labels[MODE_LABEL] === SIDECAR_MODE",
      replace: "MODE_LABEL in labels",
      test: "a podfit outside resizes a pod of another mode (C17)",
    },
    {
      breaks: "looks after a pod of another namespace than it was told",
      in: "toNamespaces",
      find: "namespace !== pod.namespace",
      replace: "namespace === null",
      test: "a sidecar is of one pod and its namespace, by a source that needs no right to nodes (C17)",
    },
  ],
};
