/** The example of the document that podfit stands in for, word for word: what people copy who invent no numbers. */
import type { Spec } from "./candidate.ts";

const SIDES: Spec = {
  requests: { scaleUpThreshold: 75, scaleDownThreshold: 60, targetUtilization: 70 },
  limits: { scaleUpThreshold: 85, scaleDownThreshold: 70, targetUtilization: 75 },
};

export const EXAMPLE: Spec = {
  policy: {
    pollInterval: "5s",
    consecutiveSamples: 3,
    cooldown: "2m",
    after: "containerReady",
    delay: "10s",
    cpu: SIDES,
    memory: SIDES,
  },
  bounds: {
    cpu: {
      requests: { min: "100m", max: "2", step: "100m", stepPercent: 25 },
      limits: { min: "100m", max: "3", step: "100m", stepPercent: 25 },
    },
    memory: {
      requests: { min: "96Mi", max: "2Gi", step: "64Mi", stepPercent: 25 },
      limits: { min: "300Mi", max: "3Gi", step: "64Mi", stepPercent: 25 },
    },
  },
};
