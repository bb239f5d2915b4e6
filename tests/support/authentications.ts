/** A TriggerAuthentication with everything that podfit reads. */
import { applyEdits, type Edits, type Manifest } from "./manifests.ts";

export const AUTHENTICATION: Manifest = {
  apiVersion: "keda.sh/v1alpha1",
  kind: "TriggerAuthentication",
  metadata: { name: "prom", namespace: "shop", uid: "u1", resourceVersion: "3" },
  spec: {
    secretTargetRef: [{ parameter: "bearerToken", name: "prom-token", key: "token" }],
    env: [
      { parameter: "username", name: "PROM_USER" },
      { parameter: "password", name: "PROM_PASSWORD", containerName: "proxy" },
    ],
  },
};

/** The authentication, edited; `undefined` removes a field. */
export function toAuthentication(edits: Edits): Manifest {
  return applyEdits(AUTHENTICATION, edits);
}
