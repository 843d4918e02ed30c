// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/attribute"
)

// TestURLs: secrets in the command of an exec, a token, or the path of a proxied request are
// redacted.
func TestURLs(t *testing.T) {
	const path = "/api/v1/namespaces/a/pods/b/exec"
	for name, c := range map[string]struct{ key, value, want string }{
		"as sent": {
			"http.target", path + "?command=mysql&command=-psecret&container=c&stdout=true",
			path + "?command=REDACTED&command=REDACTED&container=c&stdout=true",
		},
		"at the end": {"http.target", path + "?container=c&command=secret", path + "?container=c&command=REDACTED"},
		"escaped": {
			"url.full", "https://host" + path + "?%63ommand=%73ecret",
			"https://host" + path + "?%63ommand=REDACTED",
		},
		"a query":        {"url.query", "command=secret&tty=true", "command=REDACTED&tty=true"},
		"a question":     {"http.url", path + "?a=b?&command=secret?", path + "?a=REDACTED&command=REDACTED"},
		"an equals sign": {"http.target", path + "?command=a=secret", path + "?command=REDACTED"},
		"unknown": {
			"http.target", path + "?commands=a&token=b&command=",
			path + "?commands=REDACTED&token=REDACTED&command=",
		},
		"no value":   {"http.target", path + "?secret", path + "?REDACTED"},
		"two in one": {"http.target", path + "?limit=1;token=secret", path + "?limit=REDACTED"},
		"known":      {"http.target", path + "?fieldManager=kubectl&dryRun=All&labelSelector=a%3Db", ""},
		"proxied": {
			"http.target", "/api/v1/namespaces/a/services/b:80/proxy/reset/secret?token=secret",
			"/api/v1/namespaces/a/services/b:80/proxy/REDACTED?REDACTED",
		},
		"proxied, known": {
			"http.target", "/api/v1/namespaces/a/services/b/proxy?timeout=secret",
			"/api/v1/namespaces/a/services/b/proxy?REDACTED",
		},
		"proxied, path": {
			"url.path", "/api/v1/namespaces/a/pods/b/proxy/secret",
			"/api/v1/namespaces/a/pods/b/proxy/REDACTED",
		},
		"proxied, root": {"url.path", "/api/v1/namespaces/a/pods/b/proxy/", ""},
		"proxied, field": {
			"url", "/api/v1/namespaces/a/pods/b/proxy/secret", "/api/v1/namespaces/a/pods/b/proxy/REDACTED",
		},
		"stream": {"http.target", "/cri/exec/secret", "/cri/exec/REDACTED"},
		"webhook": {
			"url.full", "https://10.0.0.1:443/check/secret?timeout=10s",
			"https://10.0.0.1:443/REDACTED?REDACTED",
		},
		"like the API": {
			"url.full", "https://discord.example/api/webhooks/1/secret", "https://discord.example/REDACTED",
		},
		"path of a webhook":   {"url.path", "/api/webhooks/1/secret", "/REDACTED"},
		"target of a webhook": {"http.target", "/api/webhooks/1/secret?timeout=10s", "/REDACTED?REDACTED"},
		"only a path":         {"url.full", "/api/webhooks/1/secret", "/REDACTED"},
		"no slash":            {"url.path", "api/webhooks/1/secret", "REDACTED"},
		"health check":        {"url.path", "/readyz/secret", "/readyz/REDACTED"},
		"health":              {"url.path", "/readyz", ""},
		"schema":              {"url.full", "https://host/openapi/v3/apis", "https://host/openapi/REDACTED"},
		"like the kubelet":    {"url.path", "/exec/a/secret", "/REDACTED"},
		"key in etcd":         {"key", "/registry/pods/a/b", ""},
		"every resource":      {"http.target", "*", ""},
		"user": {
			"url.full", "https://user:secret@10.0.0.1:443/api/v1/pods", "https://10.0.0.1:443/api/v1/pods",
		},
		"database":    {"url.full", "redis://:secret@redis:6379/0", "redis://redis:6379/0"},
		"fragment":    {"url.full", "https://host#secret", "https://host"},
		"API":         {"url.full", "https://10.0.0.1:443/api/v1/pods?watch=true", ""},
		"custom API":  {"url.full", "https://10.0.0.1:443/apis/apps/v1/deployments?limit=500", ""},
		"socket":      {"server.address", "unix:///run/containerd/containerd.sock", ""},
		"kubelet":     {"url.path", "/exec/a/b/c", ""},
		"its ports":   {"url.path", "/portForward/a/b", ""},
		"host":        {"url.full", "https://10.0.0.1:443/", ""},
		"another key": {"user_agent.original", "x?command=y", ""},
		"broken": {
			"http.target", path + "?%zz=a&%=b&&=&command", path + "?%zz=REDACTED&%=REDACTED&&=&REDACTED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			td := ptrace.NewTraces()
			s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{2})
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(epoch))
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(epoch))
			s.Attributes().PutStr(c.key, c.value)
			e := s.Events().AppendEmpty()
			e.Attributes().PutStr(c.key, c.value)
			want, hidden := c.want, 2
			if want == "" {
				want, hidden = c.value, 0
			}
			for encoding, body := range both(t, ptraceotlp.NewExportRequestFromTraces(td)) {
				b := decoded(t, body)
				for where, attrs := range map[string][]attribute.KeyValue{
					"span":  b.spans[0].Attributes,
					"event": b.spans[0].Events[0].Attributes,
				} {
					if got := attrs[0].Value.AsString(); got != want {
						t.Errorf("%s, %s: got %s, want %s", encoding, where, got, want)
					}
				}
				if b.cut[cutCommand] != hidden {
					t.Errorf("%s: %d redactions are counted, want %d", encoding, b.cut[cutCommand], hidden)
				}
			}
		})
	}
}

// TestAttributes: secrets in arguments, headers, annotations and messages are redacted.
func TestAttributes(t *testing.T) {
	for key, want := range map[string]string{
		"process.command_line": redacted, "process.command_args": redacted, "container.command_args": redacted,
		"k8s.pod.annotation.example.com/token": redacted, "http.request.header.authorization": redacted,
		"response.header.location": redacted,
		"db.query.text":            redacted, "exception.message": "(text withheld)", "error": "(text withheld)",
		"otel.status_description": "(text withheld)", "errors": "(text withheld)",
		"k8s.pod.name": "secret", "error.type": "secret", "service.name": "secret",
	} {
		for _, list := range []bool{false, true} {
			td := ptrace.NewTraces()
			resource := td.ResourceSpans().AppendEmpty()
			s := resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{2})
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(epoch))
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(epoch))
			for _, attrs := range []pcommon.Map{resource.Resource().Attributes(), s.Attributes()} {
				if list {
					attrs.PutEmptySlice(key).AppendEmpty().SetStr("secret")
				} else {
					attrs.PutStr(key, "secret")
				}
			}
			for encoding, body := range both(t, ptraceotlp.NewExportRequestFromTraces(td)) {
				b := decoded(t, body)
				for where, attrs := range map[string][]attribute.KeyValue{
					"resource": b.spans[0].Origin.Resource.Attributes,
					"span":     b.spans[0].Attributes,
				} {
					if got := attrs[0].Value.String(); got != want && !(list && want == "secret") {
						t.Errorf("%s of the %s, %s: got %s, want %s", key, where, encoding, got, want)
					}
				}
			}
		}
	}
}
