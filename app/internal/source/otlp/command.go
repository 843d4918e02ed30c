// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// redacted stands for a value that is not to be shown, as OpenTelemetry's
// semantic conventions for URLs have it.
const redacted = "REDACTED"

// conceal hides what is to be run in a container, where attrs hold the URL of a
// kubectl exec: arguments may be passwords, and who may read traces need not be
// allowed to read those.
func (b *batch) conceal(attrs []attribute.KeyValue) {
	for i := range attrs {
		switch attrs[i].Key {
		case "http.target", "http.url", "url.full", "url.query":
		default:
			continue
		}
		if v := attrs[i].Value; v.Type() == attribute.STRING {
			if text, hidden := withoutCommand(v.AsString()); hidden {
				attrs[i].Value = attribute.StringValue(text)
				b.cut[cutCommand]++
			}
		}
	}
}

// withoutCommand is a URL, or its query, in which the values of the parameter
// command are redacted.
func withoutCommand(text string) (string, bool) {
	if !strings.Contains(text, "=") {
		return text, false
	}
	before, query, isURL := strings.Cut(text, "?")
	if !isURL {
		before, query = "", text
	}
	hidden := false
	params := strings.Split(query, "&")
	for i, p := range params {
		name, value, _ := strings.Cut(p, "=")
		if name, err := url.QueryUnescape(name); err == nil && name == "command" && value != "" {
			params[i], hidden = "command="+redacted, true
		}
	}
	if !hidden {
		return text, false
	}
	if isURL {
		before += "?"
	}
	return before + strings.Join(params, "&"), true
}
