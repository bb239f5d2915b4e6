{{/*
What podfit may do. No `get`: podfit lists each kind once, and watches it from there.
Each rule says what it is for; tests/e2e/rights_test.ts has them all used on a real cluster, and tests/deploy/rights_test.ts which there are when.
*/}}

{{/* Objects in namespaces. */}}
{{- define "podfit.namespacedRules" -}}
# The autoscalers, and what podfit says about them in their status. It never changes a spec.
- { apiGroups: [keda.kedify.io], resources: [podresourceautoscalers], verbs: [list, watch] }
- { apiGroups: [keda.kedify.io], resources: [podresourceautoscalers/status], verbs: [patch] }
# The pods they name: size, readiness and the state of a resize.
- { apiGroups: [""], resources: [pods], verbs: [list, watch] }
{{- if not .Values.dryRun }}
# The resize itself. This subresource changes cpu and memory of containers, nothing else of a pod.
- { apiGroups: [""], resources: [pods/resize], verbs: [patch] }
{{- end }}
# The selector of what spec.target names, and the template's sizes. Workloads are never changed.
- { apiGroups: [apps], resources: [deployments, daemonsets, statefulsets], verbs: [list, watch] }
# What happened, on the autoscaler: create the first, patch the count of a repetition.
- { apiGroups: [""], resources: [events], verbs: [create, patch] }
# Optional: what namespaces allow, so that no resize is sent that would be refused for it. Without it refusals are believed.
- { apiGroups: [""], resources: [limitranges, resourcequotas], verbs: [list, watch] }
{{- if .Values.scaledObjects.enabled }}
{{- include "podfit.replicaRules" . | nindent 0 }}
{{- end }}
{{- $source := include "podfit.source" . }}
{{- if and (eq .Values.mode "sidecar") (eq $source "metrics-api") }}
# Usage of the sidecar's own pod.
- { apiGroups: [metrics.k8s.io], resources: [pods], verbs: [get] }
{{- else if has $source (list "metrics-api" "auto") }}
# Usage, where kubelets cannot be asked.
- { apiGroups: [metrics.k8s.io], resources: [pods], verbs: [list] }
{{- end }}
{{- end }}

{{/* Replicas, in namespaces: only where scaledObjects.enabled. Of workloads podfit writes the scale and nothing else. */}}
{{- define "podfit.replicaRules" -}}
# The ScaledObjects, what podfit says about them in their status, and the finalizer that restoreToOriginalReplicaCount needs.
- { apiGroups: [keda.sh], resources: [scaledobjects], verbs: [list, watch, patch] }
- { apiGroups: [keda.sh], resources: [scaledobjects/status], verbs: [patch] }
- { apiGroups: [keda.sh], resources: [triggerauthentications], verbs: [list, watch] }
# How many replicas there are, and how many there shall be. Kinds beside these need two rights more, `get` and `update` of theirs.
- { apiGroups: [apps], resources: [deployments/scale, statefulsets/scale], verbs: [get{{ if not .Values.dryRun }}, update{{ end }}] }
# Templates: the sizes that pods are born with, and the environment of authentications by `env`.
- { apiGroups: [apps], resources: [deployments, statefulsets, replicasets, controllerrevisions], verbs: [get] }
# Who else sets replicas: podfit leaves those alone.
- { apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list, watch] }
{{- if and .Values.scaledObjects.transferHpas (not .Values.dryRun) }}
# HPAs that a ScaledObject takes over.
- { apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [delete] }
{{- end }}
{{- end }}

{{/* Nodes, which are in no namespace. */}}
{{- define "podfit.nodeRules" -}}
# Addresses of the nodes that the pods are on, to ask their kubelets; and what they have room for.
- { apiGroups: [""], resources: [nodes], verbs: [list, watch] }
{{- if .Values.scaledObjects.enabled }}
# How triggers of ScaledObjects in any namespace may identify themselves.
- { apiGroups: [keda.sh], resources: [clustertriggerauthentications], verbs: [list, watch] }
{{- end }}
{{- if eq (include "podfit.source" .) "proxy" }}
# Usage by the API server's proxy. Whoever holds this right may also run commands in any container of any node.
- { apiGroups: [""], resources: [nodes/proxy], verbs: [get] }
{{- end }}
{{- end }}

{{/* The Lease: who acts, or who writes statuses. Takes its name. A right to create cannot be bound to a name. */}}
{{- define "podfit.leaseRules" -}}
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create] }
- { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ . }}], verbs: [get, update] }
{{- end }}
