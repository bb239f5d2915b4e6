/** Manifest files for tests of `podfit simulate`. */

export const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: app
        image: example.com/web:1
        resources:
          requests: {cpu: 200m, memory: 256Mi}
          limits: {cpu: "1", memory: 512Mi}
`;

export function autoscaler(spec: string): string {
  return `apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata:
  name: web
spec:
  target: {kind: deployment, name: web}
  ${spec}
`;
}

/** Ten minutes at 150m, then 900m to the end of the hour. */
export const STEP = "seconds,millicores\n0,150\n600,150\n601,900\n3600,900\n";

/** From 1 to 10 pods. */
export function scaledObject(trigger: string): string {
  return `apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: web
spec:
  scaleTargetRef: {name: web}
  minReplicaCount: 1
  maxReplicaCount: 10
  triggers:
  - ${trigger}
`;
}
