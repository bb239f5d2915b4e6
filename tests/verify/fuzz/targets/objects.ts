/** Objects of the API as a server gives them that need not be honest: pods, nodes, workloads, limit ranges, quotas. */
import * as fc from "fast-check";
import {
  type LimitRange,
  NamespaceLimitsCache,
  parseLimitRange,
  parseQuota,
  type ResourceQuota,
} from "../../../../lib/daemon/cluster/capacity.ts";
import { parseNode, parseWorkload } from "../../../../lib/daemon/cluster/parse_objects.ts";
import { parsePod } from "../../../../lib/daemon/cluster/parse_pod.ts";
import { type KubeObject, projectObject } from "../../../../lib/kube/list.ts";
import type { Deployment, Node, Pod } from "../../../../lib/api/kubernetes.ts";
import { deploymentObject, nodeObject, podObject } from "../../../support/api_objects.ts";
import { edited } from "../hostile.ts";
import { quantity } from "./units.ts";
import { mustBeFinite, target } from "../target.ts";

/** A limit range and a quota whose quantities are drawn. */
const amounts = fc.dictionary(fc.constantFrom("cpu", "memory", "storage", "requests.cpu", "limits.memory"), quantity, {
  maxKeys: 4,
});
export const limitRange = fc.array(
  fc.record({
    type: fc.constantFrom("Container", "Pod", "PersistentVolumeClaim"),
    min: amounts,
    max: amounts,
    default: amounts,
    defaultRequest: amounts,
    maxLimitRequestRatio: amounts,
  }, { requiredKeys: ["type"] }),
  { maxLength: 3 },
).map((limits) => ({ metadata: { namespace: "shop", name: "sizes", uid: "uid-sizes" }, spec: { limits } }));
export const quota = fc.record({ hard: amounts, used: amounts })
  .map((status) => ({ metadata: { namespace: "shop", name: "quota", uid: "uid-quota" }, spec: {}, status }));

/** As the watches do it: an object that cannot be read is reported and left out, whatever its shape. */
function project<T>(object: unknown, read: (object: KubeObject) => T): T | null {
  return projectObject(object, { project: read });
}

const limits = target({
  name: "limits",
  weight: 12,
  arbitrary: fc.tuple(limitRange, quota),
  check([range, of]) {
    const namespaces = new NamespaceLimitsCache();
    namespaces.set(parseLimitRange(range as LimitRange));
    namespaces.set(parseQuota(of as ResourceQuota));
    mustBeFinite(namespaces.find("shop", () => false), "limits");
  },
});

const shapedLimits = target({
  name: "limits-of-any-shape",
  weight: 6,
  arbitrary: edited([
    {
      metadata: { namespace: "shop", name: "a", uid: "u" },
      spec: { limits: [{ type: "Container", max: { cpu: "2" } }] },
    },
    { metadata: { namespace: "shop", name: "a", uid: "u" }, status: { hard: { cpu: "2" }, used: { cpu: "1" } } },
  ]),
  check(object) {
    mustBeFinite(project(object, (one) => parseLimitRange(one as LimitRange)), "limit range");
    mustBeFinite(project(object, (one) => parseQuota(one as ResourceQuota)), "quota");
  },
});

const pods = target({
  name: "pods",
  weight: 20,
  arbitrary: edited([podObject(), podObject({ sidecar: true })]),
  check(object) {
    const pod = project(object, (one) => parsePod(one as unknown as Pod));
    // Times may be of any age, amounts are numbers.
    mustBeFinite(pod?.containers, "containers");
    mustBeFinite(pod?.requests, "requests");
    mustBeFinite(pod?.memoryLimitBytes, "memory limit");
  },
});

const others = target({
  name: "nodes-and-workloads",
  weight: 10,
  arbitrary: edited([nodeObject(), deploymentObject()]),
  check(object) {
    const node = project(object, (one) => parseNode(one as unknown as Node));
    mustBeFinite([node?.capacity, node?.allocatable], "node", { min: 0 });
    project(object, (one) => parseWorkload(one as unknown as Deployment, "deployment"));
  },
});

export const OBJECT_TARGETS = [limits, shapedLimits, pods, others];
