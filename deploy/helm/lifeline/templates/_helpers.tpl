{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "lifeline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels of each object. make manifests removes the lines that are only true of a release. */}}
{{- define "lifeline.meta" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels that select the server's Pods. lifeline ui finds them by the name. */}}
{{- define "lifeline.selector" -}}
app.kubernetes.io/name: lifeline
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lifeline.labels" -}}
{{ include "lifeline.selector" . }}
{{ include "lifeline.meta" . }}
{{- end -}}

{{- define "lifeline.collector.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "lifeline.serviceAccount" -}}
{{- default (include "lifeline.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "lifeline.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Whether the server receives spans of other components: "true" or "". */}}
{{- define "lifeline.receives" -}}
{{- if or .Values.otlpReceiver.enabled (ne .Values.collector.mode "none") -}}true{{- end -}}
{{- end -}}

{{/* Whether callers see what the cluster lets them see: "true" or "". */}}
{{- define "lifeline.rights" -}}
{{- if and .Values.rights.enabled (ne (dig "api" "authorization" "" .Values.config) "open") -}}true{{- end -}}
{{- end -}}

{{/* Whether the API server serves our API: "true" or "". */}}
{{- define "lifeline.aggregated" -}}
{{- if and (include "lifeline.rights" .) .Values.apiService.enabled -}}true{{- end -}}
{{- end -}}

{{- define "lifeline.standby" -}}
{{- if gt (int .Values.replicas) 1 -}}true{{- end -}}
{{- end -}}

{{/* Four fifths of the volume, for retention.size. The rest is for data that waits to be merged or sent. */}}
{{- define "lifeline.retention" -}}
{{- $size := .Values.storage.size -}}
{{- $mi := 0 -}}
{{- if hasSuffix "Ti" $size -}}
{{- $mi = mul (trimSuffix "Ti" $size | int64) 1048576 -}}
{{- else if hasSuffix "Gi" $size -}}
{{- $mi = mul (trimSuffix "Gi" $size | int64) 1024 -}}
{{- else -}}
{{- $mi = trimSuffix "Mi" $size | int64 -}}
{{- end -}}
{{- $kept := div (mul $mi 4) 5 -}}
{{- if eq (mod $kept 1024) 0 -}}{{ div $kept 1024 }}Gi{{- else -}}{{ $kept }}Mi{{- end -}}
{{- end -}}

{{/* Nine tenths of the limit of memory. */}}
{{- define "lifeline.goMemoryLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- if hasSuffix "Gi" $limit -}}
{{- div (mul (trimSuffix "Gi" $limit | int64) 9216) 10 -}}MiB
{{- else if hasSuffix "Mi" $limit -}}
{{- div (mul (trimSuffix "Mi" $limit | int64) 9) 10 -}}MiB
{{- end -}}
{{- end -}}

{{/* The server's configuration: what the other values imply, and then the value config. */}}
{{- define "lifeline.config" -}}
{{- $name := include "lifeline.fullname" . -}}
{{- $api := dict "address" "127.0.0.1:7070" -}}
{{- if .Values.api.secretName -}}
{{- $_ := set $api "address" ":7070" -}}
{{- $_ := set $api "tls" (dict "certFile" "/etc/lifeline-api/tls.crt" "keyFile" "/etc/lifeline-api/tls.key") -}}
{{- if not (include "lifeline.rights" .) -}}{{- $_ := set $api "tokenFile" "/etc/lifeline-api/token" -}}{{- end -}}
{{- end -}}
{{- if include "lifeline.rights" . -}}
{{- $_ := set $api "authorization" "kubernetes" -}}
{{- end -}}
{{- if include "lifeline.aggregated" . -}}
{{- $_ := set $api "aggregation" (dict "address" ":7443" "secret" (printf "%s-api" $name)) -}}
{{- end -}}
{{- $out := dict "dataDir" "/var/lib/lifeline"
  "api" $api
  "telemetry" (dict "address" ":7071")
  "log" (dict "format" "json")
  "retention" (dict "size" (include "lifeline.retention" .)) -}}
{{- if include "lifeline.standby" . -}}
{{- $replicas := dict "mode" "standby" -}}
{{- if ne $name "lifeline" -}}{{- $_ := set $replicas "name" $name -}}{{- end -}}
{{- $_ := set $out "replicas" $replicas -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{- $webhook := dict "endpoint" (dict "address" ":9443") -}}
{{- if .Values.webhook.certManager.enabled -}}
{{- $_ := set $webhook.endpoint "tls" (dict "certFile" "/etc/lifeline-webhook/tls.crt" "keyFile" "/etc/lifeline-webhook/tls.key") -}}
{{- else -}}
{{- $certificate := dict "managed" true -}}
{{- if ne $name "lifeline" -}}
{{- $_ := set $certificate "name" (printf "%s-webhook" $name) -}}
{{- $_ := set $certificate "configuration" $name -}}
{{- end -}}
{{- if or (ne $name "lifeline") (ne .Release.Namespace "lifeline") -}}
{{- $_ := set $certificate "names" (list (printf "%s-webhook.%s.svc" $name .Release.Namespace)) -}}
{{- end -}}
{{- $_ := set $webhook "certificate" $certificate -}}
{{- end -}}
{{- $_ := set $out "webhook" $webhook -}}
{{- end -}}
{{- if include "lifeline.receives" . -}}
{{- $grpc := dict "address" ":4317" "tls" (dict "certFile" "/certificates/tls.crt" "keyFile" "/certificates/tls.key" "clientCAFile" "/certificates/ca.crt") -}}
{{- if eq .Values.collector.mode "sidecar" -}}
{{- $grpc = dict "address" "127.0.0.1:14317" -}}
{{- end -}}
{{- $_ := set $out "receivers" (dict "otlp" (dict "grpc" $grpc)) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $out (deepCopy .Values.config)) -}}
{{- end -}}

{{/* The size of the StatefulSet's claims. It cannot change, so that of an installed release stays. */}}
{{- define "lifeline.claimSize" -}}
{{- $size := .Values.storage.size -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace (include "lifeline.fullname" .) -}}
{{- range (dig "spec" "volumeClaimTemplates" list .) -}}
{{- if eq .metadata.name "data" -}}{{- $size = .spec.resources.requests.storage -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $size -}}
{{- end -}}

{{- define "lifeline.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "lifeline.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* Ports of DNS, for an egress rule. */}}
{{- define "lifeline.dns" -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .Values.networkPolicy.dnsNamespace }}
  ports:
    - {protocol: UDP, port: {{ .Values.networkPolicy.dnsPort }}}
    - {protocol: TCP, port: {{ .Values.networkPolicy.dnsPort }}}
{{- end -}}
