// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// defaultLimit is the limit of a search without one, and defaultLookback the time before now that it
	// starts at.
	defaultLimit    = 100
	defaultLookback = 48 * time.Hour
)

// params are the parameters of one request. Unlike Jaeger, they keep the first error, and later values
// are meaningless then.
type params struct {
	given url.Values
	// malformed is the text of an error before the parameter's name and behind it.
	malformed [2]string
	err       error
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = bad(http.StatusBadRequest, format, args...)
	}
}

func (p *params) bad(name, format string, args ...any) {
	p.fail(p.malformed[0]+name+p.malformed[1]+format, args...)
}

// text returns the value of the first name that has one, and that name.
func (p *params) text(names ...string) (value, name string) {
	for _, name := range names {
		if v := p.given.Get(name); v != "" {
			return v, name
		}
	}
	return "", names[0]
}

func (p *params) duration(names ...string) time.Duration {
	text, name := p.text(names...)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		p.bad(name, `%.80q is no duration such as "100ms" or "1m30s"`, text)
	}
	return d
}

func (p *params) limit(names ...string) int {
	text, name := p.text(names...)
	if text == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxTraces {
		p.bad(name, "%.80q is no number from 1 to %d", text, MaxTraces)
	}
	return n
}

// truth checks a parameter without an effect: the traces are never adjusted.
func (p *params) truth(names ...string) {
	text, name := p.text(names...)
	if text == "" {
		return
	}
	if _, err := strconv.ParseBool(text); err != nil {
		p.bad(name, "%.80q is neither true nor false", text)
	}
}

// moment is a time in RFC 3339. A space stands for the sign of the zone: some clients do not escape it.
func (p *params) moment(names ...string) time.Time {
	text, name := p.text(names...)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
	if err != nil {
		p.bad(name, `%.80q is no time such as "2026-03-01T12:00:00Z"`, text)
	}
	return at
}

// micros is a time in Unix microseconds.
func (p *params) micros(name string, absent time.Time) time.Time {
	text, _ := p.text(name)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.bad(name, "%.80q is no number of microseconds since 1970", text)
	}
	return time.UnixMicro(n)
}

// attributes adds the members of a JSON object of texts.
func (p *params) attributes(to map[string]string, name, text string) {
	var got map[string]string
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		p.bad(name, `%.80q is no JSON object of texts such as {"k8s.object.kind":"Pod"}`, text)
	}
	for key, value := range got {
		to[key] = value
	}
}

// order checks the times and durations of a search; the names are those of their parameters.
func (p *params) order(q *store.SpanQuery, since, until, longer, shorter string) {
	if !q.Since.Before(q.Until) {
		p.fail("%s must be before %s", since, until)
	}
	if q.Shorter != 0 && q.Shorter < q.Longer {
		p.fail("'%s' should be greater than '%s'", shorter, longer)
	}
}

// searchV3 reads the parameters query.* of a search, by their names in JSON or in protobuf.
func searchV3(given url.Values) (store.SpanQuery, error) {
	p := paramsV3(given)
	q := store.SpanQuery{
		Attributes: map[string]string{},
		Longer:     p.duration("query.durationMin", "query.duration_min"),
		Shorter:    p.duration("query.durationMax", "query.duration_max"),
		Limit:      p.limit("query.searchDepth", "query.search_depth", "query.num_traces"),
	}
	q.Service, _ = p.text("query.serviceName", "query.service_name")
	q.Operation, _ = p.text("query.operationName", "query.operation_name")
	if text, name := p.text("query.attributes"); text != "" {
		p.attributes(q.Attributes, name, text)
	}
	if _, name := p.text("query.filter"); given.Get(name) != "" {
		p.fail("%s is not supported: use query.attributes", name)
	}
	p.truth("query.rawTraces", "query.raw_traces")
	const since, until = "query.startTimeMin", "query.startTimeMax"
	q.Since = p.moment(since, "query.start_time_min")
	q.Until = p.moment(until, "query.start_time_max")
	if q.Since.IsZero() || q.Until.IsZero() {
		p.fail("%s and %s are required", since, until)
	}
	p.order(&q, since, until, "query.durationMin", "query.durationMax")
	return q, p.err
}

func paramsV3(given url.Values) *params {
	return &params{given: given, malformed: [2]string{"malformed parameter ", ": "}}
}

// searchPage reads the parameters of a search of Jaeger's page. With IDs, they replace the query.
func searchPage(given url.Values, now time.Time) (q store.SpanQuery, ids []trace.TraceID, err error) {
	p := paramsPage(given)
	q = store.SpanQuery{
		Service:    given.Get("service"),
		Operation:  given.Get("operation"),
		Attributes: map[string]string{},
		Since:      p.micros("start", now.Add(-defaultLookback)),
		Until:      p.micros("end", now),
		Limit:      p.limit("limit"),
		Longer:     p.duration("minDuration"),
		Shorter:    p.duration("maxDuration"),
	}
	for _, tag := range given["tag"] {
		key, value, ok := strings.Cut(tag, ":")
		if !ok {
			p.bad("tag", "%.80q is no key:value", tag)
		}
		q.Attributes[key] = value
	}
	for _, tags := range given["tags"] {
		if tags != "" {
			p.attributes(q.Attributes, "tags", tags)
		}
	}
	p.truth("raw")
	for _, text := range given["traceID"] {
		id, err := traceID(text)
		if err != nil {
			p.bad("traceID", "%s", err.Error())
		}
		ids = append(ids, id)
	}
	if len(ids) > MaxTraces {
		p.bad("traceID", "it was given %d times, more than %d", len(ids), MaxTraces)
	}
	if len(ids) == 0 {
		if q.Service == "" {
			p.fail("parameter 'service' is required")
		}
		p.order(&q, "start", "end", "minDuration", "maxDuration")
	}
	return q, ids, p.err
}

func paramsPage(given url.Values) *params {
	return &params{given: given, malformed: [2]string{"unable to parse param '", "': "}}
}

// traceID reads a trace ID: up to 32 hexadecimal digits, or 16 bytes in base64.
func traceID(text string) (id trace.TraceID, err error) {
	const digits = 2 * len(id)
	if n := len(text); n > 0 && n <= digits {
		if raw, err := hex.DecodeString(strings.Repeat("0", digits-n) + text); err == nil {
			return trace.TraceID(raw), nil
		}
	}
	for _, form := range []*base64.Encoding{
		base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding,
	} {
		if raw, err := form.DecodeString(text); err == nil && len(raw) == len(id) {
			return trace.TraceID(raw), nil
		}
	}
	return id, bad(http.StatusBadRequest, "%.80q is no trace ID of up to %d hexadecimal digits", text, digits)
}
