// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestStrict: sent spans have no text of unknown form, unless the setting says so. The stored spans stay.
func TestStrict(t *testing.T) {
	spans := func() []*span.Span {
		text := "denied request: “the label team is missing”"
		attributes := []attribute.KeyValue{
			attribute.String("a", "x"), attribute.String("b", text), attribute.StringSlice("c", []string{"y", text}),
			attribute.Int("d", 1),
		}
		all := []*span.Span{
			{Name: "plain", Message: "Container started"},
			{
				Name: "all", Message: text, Attributes: attributes,
				Events: []span.Event{{Name: "e", Attributes: attributes}},
			},
			{Name: "foreign", Message: "“it says so”", Origin: &span.Origin{Resource: &span.Resource{}}},
		}
		for i, s := range all {
			s.TraceID, s.ID = trace.TraceID{1}, trace.SpanID{byte(i + 1)}
			s.Start.Time, s.End.Time, s.Status = time.Unix(1, 0), time.Unix(2, 0), span.StatusError
		}
		return all
	}
	for _, withText := range []bool{false, true} {
		in := spans()
		s := &sender{opts: Options{Text: withText}}
		request, _ := s.pack(in)
		sent := fmt.Sprint(request)
		if got := strings.Contains(sent, "the label team is missing"); got != withText {
			t.Errorf("with text: %t; sent: %s", withText, sent)
		}
		if got := strings.Count(sent, "denied request: (text withheld)"); (got == 6) == withText {
			t.Errorf("with text: %t; the text is withheld %d times", withText, got)
		}
		if !strings.Contains(sent, "it says so") {
			t.Error("the message of another component was changed")
		}
		if got, want := fmt.Sprint(*in[1], *in[0]), fmt.Sprint(*spans()[1], *spans()[0]); got != want {
			t.Errorf("the spans themselves were changed: %s", got)
		}
	}
}
