{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Combinations that no schema can refuse. */}}
{{- define "lifeline.validate" -}}
{{- if and .Values.rbac.create (dig "watch" "namespaces" list .Values.config) -}}
{{- fail "config.watch.namespaces needs Roles in those namespaces: set rbac.create=false, and apply the output of: lifeline rbac --config FILE" -}}
{{- end -}}
{{- if and (dig "replicas" "mode" "" .Values.config) (not (include "lifeline.standby" .)) (ne (dig "replicas" "mode" "" .Values.config) "single") -}}
{{- fail "config.replicas.mode follows from replicas: set replicas=2" -}}
{{- end -}}
{{- if and .Values.webhook.register (not .Values.webhook.enabled) -}}
{{- fail "webhook.register needs webhook.enabled=true" -}}
{{- end -}}
{{- if and (include "lifeline.aggregated" .) (eq .Values.api.secretName (printf "%s-api" (include "lifeline.fullname" .))) -}}
{{- fail (printf "api.secretName=%s is the Secret that lifeline discovery makes: give yours another name" .Values.api.secretName) -}}
{{- end -}}
{{- if and (eq .Values.collector.mode "gateway") (ne (int .Values.replicas) 2) -}}
{{- fail "collector.mode=gateway sends to two servers: set replicas=2" -}}
{{- end -}}
{{- end -}}
