{{/* The flags, as a list. A value that is not set has no flag, so podfit's own default applies. */}}
{{- define "podfit.args" -}}
{{- $name := include "podfit.fullname" . }}
{{- $args := list "run" (printf "--stats-source=%s" (include "podfit.source" .)) }}
{{- if include "podfit.mountsCgroups" . }}{{ $args = append $args "--cgroup-root=/host/cgroup" }}{{ end }}
{{- range .Values.watchNamespaces }}{{ $args = append $args (printf "--namespace=%s" .) }}{{ end }}
{{- $args = append $args (printf "--exclude-namespace=%s" (join "," .Values.excludeNamespaces | default "none")) }}
{{- if include "podfit.kubeletCa" . }}{{ $args = append $args "--kubelet-ca=/etc/podfit/kubelet-ca/ca.crt" }}{{ end }}
{{- if .Values.kubelet.insecureTls }}{{ $args = append $args "--kubelet-insecure-tls" }}{{ end }}
{{- with .Values.kubelet.preferredAddressTypes }}
{{- $args = append $args (printf "--kubelet-preferred-address-types=%s" (join "," .)) }}
{{- end }}
{{- if and .Values.leaderElection.enabled (ne $name "podfit") }}
{{- $args = append $args (printf "--leader-elect-resource-name=%s" $name) }}
{{- end }}
{{- with .Values.limits.minPollInterval }}{{ $args = append $args (printf "--min-poll-interval=%s" .) }}{{ end }}
{{- with .Values.limits.maxCpu }}{{ $args = append $args (printf "--max-cpu=%v" .) }}{{ end }}
{{- with .Values.limits.maxMemory }}{{ $args = append $args (printf "--max-memory=%v" .) }}{{ end }}
{{- with .Values.limits.maxContenders }}{{ $args = append $args (printf "--max-contenders=%v" .) }}{{ end }}
{{- if ne (toString .Values.limits.maxAutoscalersPerNamespace) "500" }}
{{- $args = append $args (printf "--max-autoscalers-per-namespace=%d" (int64 .Values.limits.maxAutoscalersPerNamespace)) }}
{{- end }}
{{- if ne (toString .Values.limits.maxScaledObjectsPerNamespace) "500" }}
{{- $args = append $args (printf "--max-scaled-objects-per-namespace=%d" (int64 .Values.limits.maxScaledObjectsPerNamespace)) }}
{{- end }}
{{- if ne (toString .Values.limits.maxObjectBytesPerNamespace) "4Mi" }}
{{- $args = append $args (printf "--max-object-bytes-per-namespace=%v" .Values.limits.maxObjectBytesPerNamespace) }}
{{- end }}
{{- if ne (toString .Values.limits.maxUnavailable) "" }}
{{- $args = append $args (printf "--max-unavailable=%v" .Values.limits.maxUnavailable) }}
{{- end }}
{{- if .Values.ignoreDisruptionBudgets }}{{ $args = append $args "--ignore-disruption-budgets" }}{{ end }}
{{- with .Values.pace.qps }}{{ $args = append $args (printf "--kube-api-qps=%v" .) }}{{ end }}
{{- with .Values.pace.burst }}{{ $args = append $args (printf "--kube-api-burst=%v" .) }}{{ end }}
{{- if ne (include "podfit.replicasMode" .) "off" }}
{{- $args = append $args (printf "--scaled-objects=%s" (include "podfit.replicasMode" .)) }}
{{- with .Values.scaledObjects.clusterObjectNamespace }}
{{- $args = append $args (printf "--cluster-object-namespace=%s" .) }}
{{- end }}
{{- with .Values.scaledObjects.maxTriggerAnswer }}{{ $args = append $args (printf "--max-trigger-answer=%s" .) }}{{ end }}
{{- if .Values.scaledObjects.kedaDeactivation }}{{ $args = append $args "--keda-deactivation" }}{{ end }}
{{- with .Values.scaledObjects.maxDeactivationsPerMinute }}
{{- $args = append $args (printf "--max-deactivations-per-minute=%v" .) }}
{{- end }}
{{- if .Values.scaledObjects.clusterCredentialsAnywhere }}{{ $args = append $args "--cluster-credentials-anywhere" }}{{ end }}
{{- if .Values.scaledObjects.plainHttpCredentials }}{{ $args = append $args "--plain-http-credentials" }}{{ end }}
{{- if .Values.metricsApis.enabled }}{{ $args = append $args "--metrics-apis" }}{{ end }}
{{- if .Values.scaledObjects.requireSecretLabel }}{{ $args = append $args "--require-secret-label" }}{{ end }}
{{- with .Values.scaledObjects.triggerAllow }}{{ $args = append $args (printf "--trigger-allow=%s" (join "," .)) }}{{ end }}
{{- with .Values.scaledObjects.triggerDeny }}{{ $args = append $args (printf "--trigger-deny=%s" (join "," .)) }}{{ end }}
{{- end }}
{{- if .Values.dryRun }}{{ $args = append $args "--dry-run" }}{{ end }}
{{- if .Values.metrics.auth }}{{ $args = append $args "--metrics-auth" }}{{ end }}
{{- if .Values.metrics.tls.secretName }}
{{- $args = concat $args (list "--tls-cert-file=/etc/podfit/tls/tls.crt" "--tls-private-key-file=/etc/podfit/tls/tls.key") }}
{{- end }}
{{- if eq .Values.ipFamily "IPv6" }}{{ $args = append $args (printf "--listen=%s" (include "podfit.listen" .)) }}{{ end }}
{{- if .Values.debug.enabled }}{{ $args = append $args (printf "--debug-listen=%s" (include "podfit.debugListen" .)) }}{{ end }}
{{- $args = concat $args (list (printf "--log-level=%s" .Values.log.level) (printf "--log-format=%s" .Values.log.format)) }}
{{- toYaml (concat $args .Values.extraArgs) }}
{{- end }}

{{/*
The command that starts podfit, as a list, or nothing if the image's own entry point starts it. It permits only what the mode needs.
podfit reads cgroups only if they are mounted. An agent connects only to the API server and to the kubelet of its node.
*/}}
{{- define "podfit.command" -}}
{{- $isNodeLocal := eq .Values.mode "node-local" }}
{{- $dialsNames := without .Values.kubelet.preferredAddressTypes "InternalIP" }}
{{- if and .Values.narrowPermissions (not (and $isNodeLocal $dialsNames)) }}
{{- $command := list "/podfit/deno" "run" "-q" "--no-prompt" (printf "-P=%s" .Values.mode) }}
{{- if $isNodeLocal }}
{{- $address := ternary "[$(%s)]:%s" "$(%s):%s" (eq .Values.ipFamily "IPv6") }}
{{- $reached := list (printf $address "KUBERNETES_SERVICE_HOST" "$(KUBERNETES_SERVICE_PORT)") (include "podfit.listen" .) }}
{{- if .Values.debug.enabled }}{{ $reached = append $reached (include "podfit.debugListen" .) }}{{ end }}
{{- if include "podfit.asksKubelets" . }}
{{- range .Values.networkPolicy.kubeletPorts }}{{ $reached = append $reached (printf $address "NODE_IP" (toString .)) }}{{ end }}
{{- end }}
{{- /* podfit checks there that the certificate and the key belong together. */}}
{{- if .Values.metrics.tls.secretName }}{{ $reached = append $reached "127.0.0.1" }}{{ end }}
{{- $command = append $command (printf "--allow-net=%s" (join "," $reached)) }}
{{- end }}
{{- toYaml (append $command "/podfit/main.js") }}
{{- end }}
{{- end }}

{{- define "podfit.listen" -}}
{{ ternary "[::]:8080" "0.0.0.0:8080" (eq .Values.ipFamily "IPv6") }}
{{- end }}

{{- define "podfit.debugListen" -}}
{{ ternary "[::]:8081" "0.0.0.0:8081" (eq .Values.ipFamily "IPv6") }}
{{- end }}

{{/* A probe of the listener. Takes (list $ "/healthz" timings). */}}
{{- define "podfit.probe" -}}
httpGet:
  path: {{ index . 1 }}
  port: http
  {{- if (index . 0).Values.metrics.tls.secretName }}
  scheme: HTTPS
  {{- end }}
{{ toYaml (index . 2) }}
{{- end }}

{{/* "true" or "": are there volumes? */}}
{{- define "podfit.hasVolumes" -}}
{{- if or (include "podfit.mountsCgroups" .) (include "podfit.kubeletCa" .) .Values.metrics.tls.secretName }}true{{ end }}
{{- end }}

{{- define "podfit.volumeMounts" -}}
{{- if include "podfit.mountsCgroups" . }}
- { name: cgroup, mountPath: /host/cgroup, readOnly: true }
{{- end }}
{{- if include "podfit.kubeletCa" . }}
- { name: kubelet-ca, mountPath: /etc/podfit/kubelet-ca, readOnly: true }
{{- end }}
{{- if .Values.metrics.tls.secretName }}
- { name: tls, mountPath: /etc/podfit/tls, readOnly: true }
{{- end }}
{{- end }}

{{- define "podfit.volumes" -}}
{{- $ca := .Values.kubelet.ca }}
{{- $given := include "podfit.kubeletCa" . }}
{{- if include "podfit.mountsCgroups" . }}
- name: cgroup
  hostPath: { path: /sys/fs/cgroup, type: Directory }
{{- end }}
{{- if eq $given "configMap" }}
- name: kubelet-ca
  configMap:
    name: {{ $ca.configMap.name | quote }}
    items: [{ key: {{ $ca.configMap.key | quote }}, path: ca.crt }]
{{- else if eq $given "secret" }}
- name: kubelet-ca
  secret:
    secretName: {{ $ca.secret.name | quote }}
    items: [{ key: {{ $ca.secret.key | quote }}, path: ca.crt }]
{{- else if eq $given "inline" }}
- name: kubelet-ca
  configMap:
    name: {{ include "podfit.fullname" . }}-kubelet-ca
{{- end }}
{{- with .Values.metrics.tls.secretName }}
- name: tls
  secret:
    secretName: {{ . | quote }}
    # 0440: podfit can read it because of its group.
    defaultMode: 288
{{- end }}
{{- end }}

{{/* The pods of the Deployment and of the DaemonSet. */}}
{{- define "podfit.podTemplate" -}}
metadata:
  labels:
    {{- include "podfit.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    # podfit's commands find the pods by this label, whatever the release is called.
    podfit.dev/mode: {{ .Values.mode }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "podfit.serviceAccountName" . | quote }}
  automountServiceAccountToken: true
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  # podfit ends within 14 s of a SIGTERM. Before that it releases its Lease and sends its last events.
  terminationGracePeriodSeconds: 30
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: podfit
      image: {{ include "podfit.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- with include "podfit.command" . }}
      command:
        {{- . | nindent 8 }}
      {{- end }}
      args:
        {{- include "podfit.args" . | nindent 8 }}
      env:
        - name: PRA_ENABLED
          value: {{ include "podfit.feature" (list . "podResourceAutoscalersEnabled" "enabled") | quote }}
        {{- if eq (include "podfit.feature" (list . "praRequiresAnnotatedPods" "requireAnnotation")) "true" }}
        - name: PRA_REQUIRES_ANNOTATED_PODS
          value: "true"
        {{- end }}
        {{- with include "podfit.agentId" . }}
        - name: KEDIFY_AGENT_ID
          value: {{ . | quote }}
        {{- end }}
        {{- if not .Values.leaderElection.enabled }}
        - name: PODFIT_LEADER_ELECT
          value: "false"
        {{- end }}
        {{- if eq .Values.mode "node-local" }}
        - name: PODFIT_NODE
          valueFrom: { fieldRef: { fieldPath: spec.nodeName } }
        - name: NODE_IP
          valueFrom: { fieldRef: { fieldPath: status.hostIP } }
        {{- end }}
        {{- if or (ne (include "podfit.replicasMode" .) "off") .Values.debug.enabled }}
        - name: PODFIT_POD_IPS
          valueFrom: { fieldRef: { fieldPath: status.podIPs } }
        {{- end }}
        {{- if .Values.debug.enabled }}
        # Readers of the records send it through the API server, so they need the right to read podfit's pods.
        - name: PODFIT_POD_UID
          valueFrom: { fieldRef: { fieldPath: metadata.uid } }
        {{- end }}
        {{- with include "podfit.v8Flags" . }}
        # The flags of the image, and a bound on the heap that leaves room for the rest of the process.
        - name: DENO_V8_FLAGS
          value: {{ . | quote }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
        {{- if .Values.debug.enabled }}
        - { name: debug, containerPort: 8081 }
        {{- end }}
      livenessProbe:
        {{- include "podfit.probe" (list . "/healthz" .Values.livenessProbe) | nindent 8 }}
      readinessProbe:
        {{- include "podfit.probe" (list . "/readyz" .Values.readinessProbe) | nindent 8 }}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      {{- if include "podfit.hasVolumes" . }}
      volumeMounts:
        {{- include "podfit.volumeMounts" . | trim | nindent 8 }}
      {{- end }}
  {{- if include "podfit.hasVolumes" . }}
  volumes:
    {{- include "podfit.volumes" . | trim | nindent 4 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- else }}
  {{- if eq .Values.mode "node-local" }}
  tolerations: [{ operator: Exists }]
  {{- end }}
  {{- end }}
  {{- if eq .Values.mode "central" }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- $own := dict "labelSelector" (dict "matchLabels" (include "podfit.selectorLabels" $ | fromYaml)) "matchLabelKeys" (list "pod-template-hash") }}
    {{- range . }}
    {{- toYaml (list (ternary . (mergeOverwrite (deepCopy $own) .) (hasKey . "labelSelector"))) | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- end }}
{{- end }}
