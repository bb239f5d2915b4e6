/** The events of ScaledObjects (R92): KEDA's names, and HPA's. */

/** Names and types. */
export const REPLICAS_NOTICES = {
  ScaledObjectReady: "Normal",
  ScaledObjectPaused: "Normal",
  ScaledObjectUnpaused: "Normal",
  ScaledObjectFallbackActivated: "Normal",
  ScaledObjectFallbackDeactivated: "Normal",
  KEDAScalersStarted: "Normal",
  KEDAScalersStopped: "Normal",
  KEDAScaleTargetActivated: "Normal",
  KEDAScaleTargetDeactivated: "Normal",
  KEDAScalerInfo: "Normal",
  SuccessfulRescale: "Normal",
  ScaledObjectCheckFailed: "Warning",
  ScaledObjectUpdateFailed: "Warning",
  ScaledObjectDeleted: "Warning",
  KEDAScalerFailed: "Warning",
  KEDAMetricSourceFailed: "Warning",
  KEDAScaleTargetActivationFailed: "Warning",
  KEDAScaleTargetDeactivationFailed: "Warning",
  FailedRescale: "Warning",
  FailedGetScale: "Warning",
  FailedComputeMetricsReplicas: "Warning",
} as const satisfies Record<string, "Normal" | "Warning">;
export type ReplicasNoticeName = keyof typeof REPLICAS_NOTICES;

/** An Event on a ScaledObject as data. */
export interface ReplicasNotice {
  readonly name: ReplicasNoticeName;
  readonly message: string;
}
