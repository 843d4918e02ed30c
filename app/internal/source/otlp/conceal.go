// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"cmp"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// redacted replaces a secret value, as in OpenTelemetry's semantic conventions for URLs.
const redacted = "REDACTED"

// parameters are the query parameters of the Kubernetes API whose values are safe to show. Other
// values may be part of a command, a token, or a request through the API server's proxy to a
// Service.
var parameters = map[string]bool{
	"allowWatchBookmarks":  true,
	"container":            true,
	"dryRun":               true,
	"fieldManager":         true,
	"fieldSelector":        true,
	"fieldValidation":      true,
	"follow":               true,
	"force":                true,
	"gracePeriodSeconds":   true,
	"includeObject":        true,
	"labelSelector":        true,
	"limit":                true,
	"limitBytes":           true,
	"orphanDependents":     true,
	"ports":                true,
	"pretty":               true,
	"previous":             true,
	"propagationPolicy":    true,
	"resourceVersion":      true,
	"resourceVersionMatch": true,
	"sendInitialEvents":    true,
	"sinceSeconds":         true,
	"stderr":               true,
	"stdin":                true,
	"stdout":               true,
	"tailLines":            true,
	"timeout":              true,
	"timeoutSeconds":       true,
	"timestamps":           true,
	"tty":                  true,
	"watch":                true,
}

// plainName reports whether the name of a span's event is a fixed text without values. containerd
// uses whole log lines as names.
func plainName(name string) bool {
	return len(name) <= maxPlainName && name != "" && isLetter(name[0]) && consists(name, " ._/()-", false)
}

const maxPlainName = 80

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// consists reports whether text has only letters, characters of others, and digits if allowed.
func consists(text, others string, digits bool) bool {
	for i := range len(text) {
		c := text[i]
		if !isLetter(c) && (!digits || c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// concealMessages removes possible secrets from the span's status message and its event names.
func (b *batch) concealMessages(s *span.Span) {
	b.concealText(&s.Message)
	for i := range s.Events {
		e := &s.Events[i]
		if plainName(e.Name) {
			continue
		}
		name := message.Clean(e.Name)
		if first, _, _ := strings.Cut(e.Name, " "); name == message.Withheld && plainName(first) {
			name = first + " " + name
		}
		if name != e.Name {
			e.Name = name
			b.cut[cutMessage]++
		}
	}
}

func (b *batch) concealText(text *string) {
	if *text == "" {
		return
	}
	if clean := message.Clean(*text); clean != strings.TrimSpace(*text) {
		*text = clean
		b.cut[cutMessage]++
	}
}

// secretKeys are prefixes of the attribute keys that hold arguments, headers or statements.
// annotationKey marks the annotations of an object.
var secretKeys = []string{
	"process.command",
	"container.command",
	"http.request.header.",
	"http.response.header.",
	"request.header",
	"response.header",
	"rpc.grpc.request.metadata.",
	"rpc.grpc.response.metadata.",
	"db.statement",
	"db.query.",
}

const annotationKey = ".annotation."

// messageWords are the last words of attribute keys that hold messages.
var messageWords = map[string]bool{
	"error": true, "errors": true, "err": true, "message": true, "msg": true, "description": true, "stacktrace": true,
	"stderr": true, "stdout": true, "output": true, "body": true,
}

// content classifies an attribute's value by its key.
type content int

const (
	contentOther content = iota
	contentSecret
	contentMessage
	contentQuery
	contentURL
)

// urlKeys are the attribute keys of a request's URL or path.
var urlKeys = map[string]bool{"http.target": true, "http.url": true, "url.full": true, "url.path": true}

// maxKeys limits the cache of contentOf.
const maxKeys = 1024

// contentOf returns the content for a key. It caches results because keys repeat.
func (b *batch) contentOf(key string) content {
	c, known := b.contents[key]
	if known {
		return c
	}
	switch {
	case key == "url.query":
		c = contentQuery
	case urlKeys[key]:
		c = contentURL
	case isSecret(key):
		c = contentSecret
	case messageWords[key[strings.LastIndexAny(key, "._")+1:]]:
		c = contentMessage
	}
	if b.contents == nil {
		b.contents = make(map[string]content, 64)
	}
	if len(b.contents) < maxKeys {
		b.contents[key] = c
	}
	return c
}

// conceal redacts attribute values: arguments, headers, messages, and possible secrets in URLs.
func (b *batch) conceal(attrs []attribute.KeyValue) {
	for i := range attrs {
		v := &attrs[i].Value
		isText := v.Type() == attribute.STRING
		switch b.contentOf(string(attrs[i].Key)) {
		case contentSecret:
			if text := v.AsString(); !isText || text != "" && text != redacted {
				*v = attribute.StringValue(redacted)
				b.cut[cutCommand]++
			}
		case contentMessage:
			switch v.Type() {
			case attribute.STRING:
				text := v.AsString()
				b.concealText(&text)
				*v = attribute.StringValue(text)
			case attribute.STRINGSLICE, attribute.SLICE, attribute.MAP:
				*v = attribute.StringValue(message.Withheld)
				b.cut[cutMessage]++
			}
		case contentQuery:
			b.concealURL(v, publicQuery(v.AsString(), false))
		case contentURL:
			if text := v.AsString(); text != "" {
				b.concealURL(v, publicURL(text, true))
			}
		default:
			if text := v.AsString(); isText && (strings.HasPrefix(text, "/") || strings.Contains(text, "://")) {
				b.concealURL(v, publicURL(text, false))
			}
		}
	}
}

func (b *batch) concealURL(v *attribute.Value, public string) {
	if v.Type() == attribute.STRING && public != v.AsString() {
		*v = attribute.StringValue(public)
		b.cut[cutCommand]++
	}
}

func isSecret(key string) bool {
	for _, prefix := range secretKeys {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return strings.HasPrefix(key, "k8s.") && strings.Contains(key, annotationKey)
}

var (
	urlForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)
	webForm = regexp.MustCompile(`^(?:https?|wss?)://`)
	// apiPath are the paths of the Kubernetes API and of the kubelet's streams.
	apiPath = regexp.MustCompile(
		`^/(?:$|(?:api/v1|apis/[a-z0-9.-]+/v[0-9][a-z0-9]*)(?:/|$)|` +
			`(?:api|apis|version|metrics|healthz|livez|readyz|ping|openapi/v[23])$|` +
			`(?:exec|attach|containerLogs)(?:/[a-z0-9.-]+){3,4}$|portForward(?:/[a-z0-9.-]+){2,3}$)`,
	)
	// healthPath matches the start of other paths of health, metrics and schemas.
	healthPath = regexp.MustCompile(`^/(?:healthz|livez|readyz|metrics|openapi|ping|version)/`)
	// proxied matches the start of a path that the API server proxies, or of a container runtime's
	// stream. The rest of a stream's path is a token.
	proxied = regexp.MustCompile(`^/api/v1/.*/proxy(?:/|$)|^/cri/[a-z]+/`)
)

// plainValue are the characters, beside letters and digits, that a shown parameter may have.
const plainValue = "._:/,=!()% +@-"

// publicURL returns a URL or path with possible secrets redacted. It drops the user and the
// fragment. It redacts the values of unknown parameters, proxied paths, and paths outside the
// Kubernetes API. With request, the text is that of a request. Otherwise a path without a host may
// be that of a file, and is kept. So is any other text.
func publicURL(text string, request bool) string {
	if text[0] != '/' && !urlForm.MatchString(text) {
		if request && text != "*" { // the target of OPTIONS
			return redacted
		}
		return text
	}
	text, _, _ = strings.Cut(text, "#")
	path, query, found := strings.Cut(text, "?")
	host := ""
	if scheme := schemeOf(path); scheme != "" {
		rest := path[len(scheme):]
		authority := rest
		if slash := strings.IndexByte(rest, '/'); slash >= 0 {
			authority = rest[:slash]
		}
		path = rest[len(authority):]
		host = scheme + authority[strings.LastIndexByte(authority, '@')+1:]
		request = webForm.MatchString(scheme)
	}
	path, all := publicPath(path, request)
	if found {
		query = "?" + publicQuery(query, all)
	}
	return host + path + query
}

// publicPath redacts a proxied path. It redacts the path of a request outside the Kubernetes API.
// With hidden, the query is to be redacted, too.
func publicPath(path string, request bool) (public string, hidden bool) {
	before := ""
	if strings.Contains(path, "/proxy") || strings.HasPrefix(path, "/cri/") {
		before = proxied.FindString(path)
	}
	if before == "" && request && path != "" && !apiPath.MatchString(path) {
		before = cmp.Or(healthPath.FindString(path), "/")
	}
	if before == "" || before == path {
		return path, before != ""
	}
	return before + redacted, true
}

// schemeOf returns the start of a URL such as "https://"; "" for a path.
func schemeOf(text string) string {
	if text == "" || text[0] == '/' {
		return ""
	}
	return urlForm.FindString(text)
}

// publicQuery redacts all parameters of a query, or only the unknown ones.
func publicQuery(query string, all bool) string {
	params := strings.Split(query, "&")
	for i, p := range params {
		name, value, assigned := strings.Cut(p, "=")
		switch {
		case p == "" || assigned && value == "" && !all:
		case !all && parameters[name] && consists(value, plainValue, true):
		case assigned && consists(name, plainValue, true) && !all:
			params[i] = name + "=" + redacted
		default:
			params[i] = redacted
		}
	}
	return strings.Join(params, "&")
}
