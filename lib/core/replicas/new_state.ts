/** The state of a ScaledObject of which nothing is known yet. */
import { REPLICAS_STATE_VERSION, type ReplicasState } from "./state.ts";

export const NEW_REPLICAS_STATE: ReplicasState = {
  version: REPLICAS_STATE_VERSION,
  history: null,
  failures: {},
  activity: {},
  lastActiveAt: null,
  isActive: null,
  originalReplicas: null,
  targetResource: null,
  pausedReplicas: null,
  conditions: {},
  isScaleInPending: false,
  scaledInAt: null,
  notified: {},
};
