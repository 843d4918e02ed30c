// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/attribute"
)

// TestCommandsAreConcealed: what somebody runs in a container may be a password.
func TestCommandsAreConcealed(t *testing.T) {
	const path = "/api/v1/namespaces/a/pods/b/exec"
	for name, c := range map[string]struct{ key, value, want string }{
		"as sent":        {"http.target", path + "?command=mysql&command=-psecret&container=c&stdout=true", path + "?command=REDACTED&command=REDACTED&container=c&stdout=true"},
		"at the end":     {"http.target", path + "?container=c&command=secret", path + "?container=c&command=REDACTED"},
		"escaped":        {"url.full", "https://host" + path + "?%63ommand=%73ecret", "https://host" + path + "?command=REDACTED"},
		"a query":        {"url.query", "command=secret&tty=true", "command=REDACTED&tty=true"},
		"a question":     {"http.url", path + "?a=b?&command=secret?", path + "?a=b?&command=REDACTED"},
		"an equals sign": {"http.target", path + "?command=a=secret", path + "?command=REDACTED"},
		"another":        {"http.target", path + "?commands=a&my-command=b&Command=c&command=", ""},
		"no query":       {"url.full", "https://host/command=a", ""},
		"another key":    {"user_agent.original", "x?command=y", ""},
		"broken":         {"http.target", path + "?%zz=a&%=b&&=&command", ""},
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
				for where, attrs := range map[string][]attribute.KeyValue{"span": b.spans[0].Attributes, "event": b.spans[0].Events[0].Attributes} {
					if got := attrs[0].Value.AsString(); got != want {
						t.Errorf("%s, %s: got %s, want %s", encoding, where, got, want)
					}
				}
				if b.cut[cutCommand] != hidden {
					t.Errorf("%s: %d are counted, want %d", encoding, b.cut[cutCommand], hidden)
				}
			}
		})
	}
}
