{{/* The names of objects. */}}
{{- define "podfit.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "podfit.fullname" -}}
{{- $name := include "podfit.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "podfit.serviceAccountName" -}}
{{- default (include "podfit.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{/* The labels that select podfit's pods. They never change for a release of one mode. */}}
{{- define "podfit.selectorLabels" -}}
app.kubernetes.io/name: {{ include "podfit.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: {{ get (dict "central" "controller" "node-local" "agent" "sidecar" "sidecar") .Values.mode }}
{{- end }}

{{- define "podfit.labels" -}}
{{ include "podfit.selectorLabels" . }}
{{ include "podfit.releaseLabels" . }}
{{- end }}

{{/* The labels that select the pods of the sample. */}}
{{- define "podfit.sampleSelectorLabels" -}}
app.kubernetes.io/name: {{ include "podfit.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: sample
{{- end }}

{{- define "podfit.sampleLabels" -}}
{{ include "podfit.sampleSelectorLabels" . }}
{{ include "podfit.releaseLabels" . }}
{{- end }}

{{- define "podfit.releaseLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "podfit.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Where podfit reads usage: statsSource, or the default of the mode. */}}
{{- define "podfit.source" -}}
{{- default (get (dict "central" "kubelet" "node-local" "cgroup" "sidecar" "metrics-api") .Values.mode) .Values.statsSource }}
{{- end }}

{{/* "true" or "": does podfit read kubelets, with tokens of podfit-kubelet? */}}
{{- define "podfit.asksKubelets" -}}
{{- if and (ne .Values.mode "sidecar") (has (include "podfit.source" .) (list "kubelet" "auto")) }}true{{ end }}
{{- end }}

{{/* "true" or "": is the node's /sys/fs/cgroup mounted? */}}
{{- define "podfit.mountsCgroups" -}}
{{- if and (eq .Values.mode "node-local") (eq (include "podfit.source" .) "cgroup") }}true{{ end }}
{{- end }}

{{/* "true" or "": does the chart create pods for podfit? */}}
{{- define "podfit.runs" -}}
{{- if ne .Values.mode "sidecar" }}true{{ end }}
{{- end }}

{{/*
A switch, under its name in the Kedify agent's chart or under podfit's own name: "true" or "false".
Takes (list $ "name in that chart" "own name").
*/}}
{{- define "podfit.feature" -}}
{{- $values := (index . 0).Values }}
{{- $there := index . 1 }}
{{- $agent := dig "features" $there "" (default dict $values.agent) | toString }}
{{- $global := dig "features" $there "" (default dict $values.global) | toString }}
{{- if or $agent $global }}
{{- or (eq $agent "true") (eq $global "true") }}
{{- else }}
{{- index $values (index . 2) }}
{{- end }}
{{- end }}

{{- define "podfit.agentId" -}}
{{- default .Values.agentId (dig "agentId" "" (default dict .Values.agent)) }}
{{- end }}

{{/* "configMap", "secret", "inline" or "": which value holds the CA of kubelets. */}}
{{- define "podfit.kubeletCa" -}}
{{- with .Values.kubelet.ca }}
{{- if .configMap.name }}configMap{{ else if .secret.name }}secret{{ else if .inline }}inline{{ end }}
{{- end }}
{{- end }}

{{/* Whether replicas are set, and of which ScaledObjects: off, all or selected. */}}
{{- define "podfit.replicasMode" -}}
{{- if .Values.scaledObjects.mode }}{{ .Values.scaledObjects.mode }}{{ else if .Values.scaledObjects.enabled }}all{{ else }}off{{ end }}
{{- end }}

{{/* Fails if values contradict each other. The error says what to change. */}}
{{- define "podfit.validate" -}}
{{- $source := include "podfit.source" . }}
{{- $mode := .Values.mode }}
{{- $ca := .Values.kubelet.ca }}
{{- if and (eq $mode "central") (eq $source "cgroup") }}
{{- fail "statsSource: cgroup reads the files of one node, and mode: central manages all nodes: set mode: node-local" }}
{{- end }}
{{- if and (eq $mode "sidecar") (not (has $source (list "metrics-api" "cgroup"))) }}
{{- fail (printf "statsSource: %s needs rights to nodes, which a sidecar does not have: set statsSource: metrics-api or cgroup" $source) }}
{{- end }}
{{- if and (ne (include "podfit.replicasMode" .) "off") (ne $mode "central") }}
{{- fail (printf "scaledObjects.enabled needs all pods of a workload, and mode: %s manages only a part of them: set mode: central, or leave it out here" $mode) }}
{{- end }}
{{- if .Values.sample.enabled }}
{{- if eq $mode "sidecar" }}
{{- fail "sample.enabled needs a podfit that runs, and mode: sidecar runs none: apply deploy/sidecar-example.yaml, or leave it out here" }}
{{- end }}
{{- if or (has .Release.Namespace .Values.excludeNamespaces) (and .Values.watchNamespaces (not (has .Release.Namespace .Values.watchNamespaces))) }}
{{- fail (printf "sample.enabled creates the sample in namespace %s, which podfit does not manage: see watchNamespaces and excludeNamespaces" .Release.Namespace) }}
{{- end }}
{{- end }}
{{- if and (eq $mode "central") (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) }}
{{- fail "replicas above 1 without leaderElection.enabled would all resize: set replicas: 1, or leave leader election on" }}
{{- end }}
{{- if gt (len (compact (list $ca.configMap.name $ca.secret.name $ca.inline))) 1 }}
{{- fail "kubelet.ca has more than one of configMap.name, secret.name and inline: give one" }}
{{- end }}
{{- if and (include "podfit.kubeletCa" .) .Values.kubelet.insecureTls }}
{{- fail "kubelet.ca checks kubelets' certificates, and kubelet.insecureTls accepts any: leave one of them out" }}
{{- end }}
{{- if and (include "podfit.runs" .) (not (include "podfit.asksKubelets" .)) }}
{{- if or (include "podfit.kubeletCa" .) .Values.kubelet.insecureTls .Values.kubelet.preferredAddressTypes }}
{{- fail (printf "kubelet.* says how kubelets are asked, and statsSource: %s asks none: leave it out, or set statsSource: kubelet" $source) }}
{{- end }}
{{- end }}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}
{{- fail "serviceAccount.create: false needs serviceAccount.name: the account that is there" }}
{{- end }}
{{- if and .Values.podMonitor.enabled .Values.metrics.auth (not .Values.podMonitor.tokenSecret.name) }}
{{- fail "podMonitor.enabled with metrics.auth needs podMonitor.tokenSecret.name, as a PodMonitor cannot name Prometheus' own token: give it, or use serviceMonitor" }}
{{- end }}
{{- end }}

{{/* The name of the objects of mode sidecar. It ends with -sidecar, once. */}}
{{- define "podfit.sidecarName" -}}
{{- include "podfit.fullname" . | trimSuffix "-sidecar" }}-sidecar
{{- end }}

{{/*
V8 knows no limit of memory below 268 MiB: near it, a container of 256 MiB is killed before V8 collects garbage. Empty
where the limit is too small to divide, or is not written in Mi or Gi.
*/}}
{{- define "podfit.v8Flags" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString }}
{{- $mib := 0 }}
{{- if regexMatch "^[0-9]+Mi$" $limit }}
{{- $mib = trimSuffix "Mi" $limit | int }}
{{- else if regexMatch "^[0-9]+Gi$" $limit }}
{{- $mib = mul 1024 (trimSuffix "Gi" $limit | int) }}
{{- end }}
{{- if ge (int $mib) 192 }}
{{- printf "--no-parallel-scavenge,--heap-growing-percent=30,--max-semi-space-size=8,--page-promotion-threshold=10,--no-allocation-site-pretenuring,--memory-reducer-delay-ms=60000,--max-old-space-size=%d" (div (mul $mib 57) 100) }}
{{- end }}
{{- end }}
