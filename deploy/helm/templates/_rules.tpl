{{/*
The rights of podfit. Most rules have no `get`, because podfit lists each kind once and then watches it. Each rule has a comment that
says why podfit needs it. tests/e2e/rights_test.ts uses all of them on a real cluster. tests/deploy/rights_test.ts checks which rights each
set of values grants.
*/}}

{{/* Objects in namespaces. */}}
{{- define "podfit.namespacedRules" -}}
# The autoscalers, and their status. podfit never changes a spec.
- { apiGroups: [keda.kedify.io], resources: [podresourceautoscalers], verbs: [list, watch] }
- { apiGroups: [keda.kedify.io], resources: [podresourceautoscalers/status], verbs: [patch] }
# The pods that autoscalers select: size, readiness and the state of a resize.
- { apiGroups: [""], resources: [pods], verbs: [list, watch] }
{{- if not .Values.dryRun }}
# The resize. This subresource changes only CPU and memory of the containers of a pod.
- { apiGroups: [""], resources: [pods/resize], verbs: [patch] }
{{- end }}
# The selector of the workload in spec.target, and the sizes in its template. podfit never changes a workload.
- { apiGroups: [apps], resources: [deployments, daemonsets, statefulsets], verbs: [list, watch] }
# Events on the autoscaler: create the first, and patch the count if it repeats.
- { apiGroups: [""], resources: [events], verbs: [create, patch] }
# Optional: the limits of namespaces. podfit then sends no resize that these would reject. Without this right it learns from refusals.
- { apiGroups: [""], resources: [limitranges, resourcequotas], verbs: [list, watch] }
{{- if and (eq .Values.mode "central") (not .Values.ignoreDisruptionBudgets) }}
# PodDisruptionBudgets: a resize that restarts a container keeps to them. Without this right no resize restarts a container.
- { apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [list, watch] }
{{- end }}
{{- if ne (include "podfit.replicasMode" .) "off" }}
{{- include "podfit.replicaRules" . | nindent 0 }}
{{- end }}
{{- $source := include "podfit.source" . }}
{{- if and (eq .Values.mode "sidecar") (eq $source "metrics-api") }}
# Usage of the sidecar's own pod.
- { apiGroups: [metrics.k8s.io], resources: [pods], verbs: [get] }
{{- else if has $source (list "metrics-api" "auto") }}
# Usage, if podfit cannot read kubelets.
- { apiGroups: [metrics.k8s.io], resources: [pods], verbs: [list] }
{{- end }}
{{- end }}

{{/* Replicas, in namespaces: only if they are on. podfit writes only the scale of a workload. */}}
{{- define "podfit.replicaRules" -}}
{{- if eq (include "podfit.replicasMode" .) "selected" }}
# The ScaledObjects, podfit's conditions in their status, and the annotation that keeps what KEDA asks of their triggers.
- { apiGroups: [keda.sh], resources: [scaledobjects], verbs: [{{ ternary "list, watch" "get, list, watch, patch" .Values.dryRun }}] }
# The values of triggers that KEDA measures.
- { apiGroups: [external.metrics.k8s.io], resources: ["*"], verbs: [get, list] }
{{- else }}
# The ScaledObjects, their status, and the finalizer that restoreToOriginalReplicaCount needs.
- { apiGroups: [keda.sh], resources: [scaledobjects], verbs: [{{ ternary "list, watch" "list, watch, patch" .Values.dryRun }}] }
{{- end }}
{{- if .Values.metricsApis.enabled }}
# The metrics of pods-metric, object-metric and external-metric triggers.
- { apiGroups: [custom.metrics.k8s.io{{ if ne (include "podfit.replicasMode" .) "selected" }}, external.metrics.k8s.io{{ end }}], resources: ["*"], verbs: [get, list] }
{{- end }}
- { apiGroups: [keda.sh], resources: [scaledobjects/status], verbs: [patch] }
- { apiGroups: [keda.sh], resources: [triggerauthentications], verbs: [list, watch] }
{{- if ne (include "podfit.replicasMode" .) "selected" }}
# Which ScaledObjects use an authentication, in its status.
- { apiGroups: [keda.sh], resources: [triggerauthentications/status], verbs: [patch] }
{{- end }}
# The current and the desired replicas. For other kinds, grant `get` and `update` of their scale too.
- { apiGroups: [apps], resources: [deployments/scale, statefulsets/scale], verbs: [get{{ if not .Values.dryRun }}, update{{ end }}] }
# Templates: the sizes that new pods start with, and the environment variables of authentications with `env`.
- { apiGroups: [apps], resources: [deployments, statefulsets, replicasets, controllerrevisions], verbs: [get] }
# HPAs: podfit does not scale a workload that an HPA scales.
- { apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list, watch] }
{{- if .Values.scaledObjects.serviceEndpoints }}
# The endpoints that metrics-api triggers with aggregateFromKubeServiceEndpoints ask.
- { apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list] }
{{- end }}
{{- if and .Values.scaledObjects.transferHpas (not .Values.dryRun) }}
# HPAs that a ScaledObject takes over.
- { apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [delete] }
{{- end }}
{{- end }}

{{/* Nodes, which are in no namespace. */}}
{{- define "podfit.nodeRules" -}}
# Nodes: their addresses, to connect to their kubelets, and their headroom.
- { apiGroups: [""], resources: [nodes], verbs: [list, watch] }
{{- if ne (include "podfit.replicasMode" .) "off" }}
# The authentications that triggers in all namespaces can use.
- { apiGroups: [keda.sh], resources: [clustertriggerauthentications], verbs: [list, watch] }
{{- if and (ne (include "podfit.replicasMode" .) "selected") (not .Values.watchNamespaces) }}
- { apiGroups: [keda.sh], resources: [clustertriggerauthentications/status], verbs: [patch] }
{{- end }}
{{- end }}
{{- if eq (include "podfit.source" .) "proxy" }}
# Usage, through the API server's proxy. This right also allows commands in any container of any node.
- { apiGroups: [""], resources: [nodes/proxy], verbs: [get] }
{{- end }}
{{- end }}

{{/*
The Lease of the replica that acts, or of the agent that writes statuses. Takes its name. A right to create cannot be limited to a name.
*/}}
{{- define "podfit.leaseRules" -}}
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create] }
- { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ . | quote }}], verbs: [get, update] }
{{- end }}
