// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"
	"maps"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

const (
	goodTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	goodSpan   = "00f067aa0ba902b7"
	goodParent = "00-" + goodTrace + "-" + goodSpan + "-01"
	// twinTrace and twinParent are a second context, for tests with two contexts.
	twinTrace  = "0af7651916cd43dd8448eb211c80319c"
	twinParent = "00-" + twinTrace + "-b7ad6b7169203331-01"
)

// annotated is a read-only object.
type annotated map[string]string

func (a annotated) GetAnnotations() map[string]string { return a }

// good returns the span context of goodParent with a tracestate.
func good(t testing.TB, state string) trace.SpanContext {
	t.Helper()
	sc := Extract(annotated{ContextKey: goodParent, StateKey: state})
	if !sc.IsValid() || sc.TraceState().String() != state {
		t.Fatalf("cannot make a span context with tracestate %q", state)
	}
	return sc
}

func bag(t testing.TB, text string) baggage.Baggage {
	t.Helper()
	b, err := baggage.Parse(text)
	if err != nil {
		t.Fatalf("cannot parse baggage %q: %v", text, err)
	}
	return b
}

// carrying returns a context with a span context and a baggage.
func carrying(t testing.TB, state, members string) context.Context {
	t.Helper()
	ctx := trace.ContextWithSpanContext(context.Background(), good(t, state))
	return baggage.ContextWithBaggage(ctx, bag(t, members))
}

func TestFindPrecedence(t *testing.T) {
	every := func(parent string) annotated {
		a := annotated{}
		sc := Extract(annotated{ContextKey: parent})
		for _, c := range Conventions() {
			maps.Copy(a, c.Encode(sc, baggage.Baggage{}))
		}
		return a
	}
	order := []Convention{
		Default,
		KEP5915,
		AzureOperatorTrace,
		TektonTaskRun,
		TektonPipelineRun,
		AgentSandbox,
		W3C,
		Jaeger,
	}
	all := Conventions()
	if len(all) != len(order) {
		t.Fatalf("Conventions() has %d entries, want %d", len(all), len(order))
	}
	left, broken := every(goodParent), every(goodParent)
	for i, want := range order {
		if all[i] != want {
			t.Errorf("convention %d is %s, want %s", i, all[i], want)
		}
		if _, got := Find(left); got != want {
			t.Errorf("without the earlier keys, Find used %s, want %s", got, want)
		}
		if _, got := Find(broken); got != want {
			t.Errorf("with malformed values under the earlier keys, Find used %s, want %s", got, want)
		}
		delete(left, want.context)
		broken[want.context] = "broken"
	}
	if sc, c := Find(left); sc.IsValid() || c != (Convention{}) {
		t.Errorf("without any key, %s gave %v", c, sc)
	}
	if sc, c := Find(broken); sc.IsValid() || c != (Convention{}) {
		t.Errorf("with malformed values only, %s gave %v", c, sc)
	}
	all[0] = Jaeger
	if Conventions()[0] != Default {
		t.Error("a caller can change the reading order")
	}
}

func TestFindChosen(t *testing.T) {
	obj := annotated{ContextKey: goodParent, "traceparent": twinParent, "": goodParent}
	tests := map[string]struct {
		reason      string
		conventions []Convention
		trace       string
		by          Convention
	}{
		"All": {"by default all conventions are tried, Default first", nil, goodTrace, Default},
		"One": {"only the given convention is tried", []Convention{W3C}, twinTrace, W3C},
		"Order": {
			"the given conventions are tried in their order",
			[]Convention{Jaeger, W3C, Default},
			twinTrace,
			W3C,
		},
		"Missing": {
			"other conventions are not tried",
			[]Convention{KEP5915},
			"00000000000000000000000000000000",
			Convention{},
		},
		"Zero": {
			"the zero value reads nothing, not even an empty key",
			[]Convention{{}},
			"00000000000000000000000000000000",
			Convention{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sc, by := Find(obj, tt.conventions...)
			if sc.TraceID().String() != tt.trace || by != tt.by {
				t.Errorf("%s: got trace %s by %q, want %s by %q", tt.reason, sc.TraceID(), by, tt.trace, tt.by)
			}
			if got := Extract(obj, tt.conventions...); !got.Equal(sc) {
				t.Errorf("%s: Extract returned %v, Find %v", tt.reason, got, sc)
			}
			if link, ok := Link(obj, tt.conventions...); !link.SpanContext.Equal(sc) || ok != sc.IsValid() {
				t.Errorf("%s: Link returned %v, %v, Find %v", tt.reason, link.SpanContext, ok, sc)
			}
		})
	}
}

func TestContext(t *testing.T) {
	held := baggage.ContextWithBaggage(context.Background(), bag(t, "mine=1"))
	tests := map[string]struct {
		reason  string
		obj     annotated
		valid   bool
		baggage string
	}{
		"None": {"ctx is returned unchanged", nil, false, "mine=1"},
		"Plain": {
			"without baggage on the object, that of ctx stays",
			annotated{ContextKey: goodParent},
			true,
			"mine=1",
		},
		"Baggage": {"baggage is read", annotated{ContextKey: goodParent, BaggageKey: "k=v"}, true, "k=v"},
		"Malformed": {
			"malformed baggage is absent",
			annotated{ContextKey: goodParent, BaggageKey: "k=v,===;"},
			true,
			"mine=1",
		},
		"Alone": {"baggage without a context is not read", annotated{BaggageKey: "k=v"}, false, "mine=1"},
		"Other": {
			"baggage of another convention is not read",
			annotated{ContextKey: goodParent, "baggage": "k=v"}, true, "mine=1",
		},
		"Map": {
			"baggage in a JSON map is read",
			annotated{AgentSandbox.context: `{"traceparent":"` + goodParent + `","baggage":"k=v"}`},
			true,
			"k=v",
		},
		"NoPlace": {
			"Jaeger's form cannot hold baggage",
			annotated{"uber-trace-id": goodTrace + ":1:0:1", "": "k=v"},
			true,
			"mine=1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := Context(held, tt.obj)
			sc := trace.SpanContextFromContext(ctx)
			if sc.IsValid() != tt.valid || sc.IsRemote() != tt.valid {
				t.Errorf("%s: valid = %v, remote = %v, want %v", tt.reason, sc.IsValid(), sc.IsRemote(), tt.valid)
			}
			if got := baggage.FromContext(ctx).String(); got != tt.baggage {
				t.Errorf("%s: baggage = %q, want %q", tt.reason, got, tt.baggage)
			}
			if !tt.valid && ctx != held {
				t.Errorf("%s: Context did not return ctx itself", tt.reason)
			}
		})
	}
}

func TestInject(t *testing.T) {
	tests := map[string]struct {
		reason      string
		ctx         context.Context
		before      Annotations
		conventions []Convention
		want        Annotations
	}{
		"Empty": {
			"an object without annotations gets some",
			carrying(t, "", ""), nil, nil, Annotations{ContextKey: goodParent},
		},
		"All": {
			"tracestate and baggage are written, other annotations stay",
			carrying(t, "a=1", "k=v"), Annotations{"x": "y"}, nil,
			Annotations{"x": "y", ContextKey: goodParent, StateKey: "a=1", BaggageKey: "k=v"},
		},
		"Stale": {
			"values that the context lacks are removed",
			carrying(t, "", ""),
			Annotations{"x": "y", ContextKey: twinParent, StateKey: "old=1", BaggageKey: "old=1"},
			nil,
			Annotations{"x": "y", ContextKey: goodParent},
		},
		"Chosen": {
			"the first given convention is written, others stay",
			carrying(t, "a=1", ""), Annotations{ContextKey: twinParent}, []Convention{KEP5915, W3C},
			Annotations{ContextKey: twinParent, KEP5915.context: goodParent, KEP5915.state: "a=1"},
		},
		"Nothing": {
			"without a span context the object is unchanged",
			context.Background(), Annotations{ContextKey: twinParent}, nil, Annotations{ContextKey: twinParent},
		},
		"Zero": {
			"the zero convention writes nothing",
			carrying(t, "", ""), nil, []Convention{{}}, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			obj, kept := tt.before, maps.Clone(tt.before)
			Inject(tt.ctx, &obj, tt.conventions...)
			if !maps.Equal(obj, tt.want) || (obj == nil) != (tt.want == nil) {
				t.Errorf("%s:\n got %q\nwant %q", tt.reason, obj, tt.want)
			}
			if !maps.Equal(tt.before, kept) {
				t.Errorf("%s: the object's existing map changed: %q", tt.reason, tt.before)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	tests := map[string]struct {
		reason      string
		before      Annotations
		conventions []Convention
		want        Annotations
	}{
		"All": {
			"every convention is removed, other annotations stay",
			Annotations{
				"x":                   "y",
				ContextKey:            "any",
				StateKey:              "any",
				BaggageKey:            "any",
				"uber-trace-id":       "any",
				TektonTaskRun.context: "any",
				"baggage":             "any",
			},
			nil,
			Annotations{"x": "y"},
		},
		"One": {
			"only the given convention is removed",
			Annotations{ContextKey: "any", "traceparent": "any", "tracestate": "any"},
			[]Convention{W3C},
			Annotations{ContextKey: "any"},
		},
		"Last": {"without other annotations the map becomes nil", Annotations{StateKey: "any"}, nil, nil},
		"None": {"an object without a context is unchanged", Annotations{}, nil, Annotations{}},
		"Zero": {
			"the zero convention removes nothing",
			Annotations{"": "any", ContextKey: "any"},
			[]Convention{{}},
			Annotations{"": "any", ContextKey: "any"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			obj, kept := tt.before, maps.Clone(tt.before)
			Remove(&obj, tt.conventions...)
			if !maps.Equal(obj, tt.want) || (obj == nil) != (tt.want == nil) {
				t.Errorf("%s:\n got %q\nwant %q", tt.reason, obj, tt.want)
			}
			if !maps.Equal(tt.before, kept) {
				t.Errorf("%s: the object's existing map changed: %q", tt.reason, tt.before)
			}
		})
	}
}
