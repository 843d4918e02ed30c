// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/permission"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// ana is a caller who may list changes in the namespace shop, and no more.
const ana = "ana"

// guarded is an API whose callers are named by X-Remote-User under any certificate.
type guarded struct {
	http.Handler
	log        *bytes.Buffer
	permitting *permitting
	// down is the error of all reviews.
	down error
}

func newGuarded(t *testing.T, audits bool, namespaces ...string) *guarded {
	t.Helper()
	g := &guarded{log: &bytes.Buffer{}}
	v := viewtest.New(t)
	v.Put(t, time.Unix(0, 0), viewtest.Traces{})
	p := &permitting{
		gate: store.NewGate(v, store.Whole), audits: func() bool { return audits },
		now: func() time.Time { return time.Unix(0, 0) }, log: slog.New(slog.NewTextHandler(g.log, nil)),
		reviewer: permission.New(permission.Options{
			Review: func(_ context.Context, u user.Info, r permission.Right) (bool, error) {
				return u.GetName() == ana && r.Resource == "changes" && r.Verb == "list" && r.Namespace != "" &&
					r.Namespace != "other", g.down
			},
			Namespaces: func(context.Context) ([]string, error) { return namespaces, nil },
		}),
	}
	answers, err := api.New(api.Options{Access: p.access})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answers.Close() })
	callers := identity.New(identity.Options{Doors: []identity.Door{newNamed()}})
	g.permitting, g.Handler = p, callers.Wrap(p.wrap(answers))
	return g
}

// named is a door that believes the header User.
type named struct{ identity.Door }

func newNamed() named { return named{identity.Discovery(identity.Pool(nil), nil)} }

func (named) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	name := r.Header.Get("User")
	return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{"a", "b"}}}, name != "", nil
}

func (g *guarded) get(t *testing.T, name, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("User", name)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// TestAudit: a read has one line, without parameters. A line is bounded.
func TestAudit(t *testing.T) {
	g := newGuarded(t, true, "shop", "other")
	long := strings.Repeat("x", 4000)
	for _, c := range []struct{ name, path, want string }{
		{ana, "/api/v1/traces?name=hunter2&where=", ""},
		{ana, "/api/v1/traces?name=hunter2", `level=INFO msg=read user=ana groups=2 right="list changes" ` +
			`path=/api/v1/traces everywhere=false namespaces=[shop] of=1 status=200 duration=0s client=192.0.2.1:1234`},
		{ana, "/api/v1/groups?where=hunter2", `user=ana groups=2 right="get changes/groups" path=/api/v1/groups ` +
			`everywhere=false namespaces=[] of=0 status=403 `},
		{long, "/api/v1/info", "status=403"},
		{"", "/api/v1/info", `user="" groups=0 right="" path=/api/v1/info everywhere=false namespaces=[] of=0 ` +
			`status=401`},
		{ana, "/api/v1/openapi.json", ""},
	} {
		g.log.Reset()
		g.get(t, c.name, c.path)
		line := g.log.String()
		if !strings.Contains(line, c.want) || c.want == "" && strings.Contains(c.path, "openapi") && line != "" {
			t.Errorf("%.80s: got %s, want %s", c.path, line, c.want)
		}
		if strings.Contains(line, "hunter2") || len(line) > 1000 || strings.Count(line, "\n") > 1 {
			t.Errorf("%.80s: %s", c.path, line)
		}
	}
	g = newGuarded(t, false, "shop")
	if g.get(t, ana, "/api/v1/traces"); g.log.Len() > 0 {
		t.Errorf("without api.audit: %s", g.log)
	}
}

// TestUnaskedHeader: an answer says how many namespaces it leaves out.
func TestUnaskedHeader(t *testing.T) {
	var many []string
	for i := range permission.MaxNamespaces + 3 {
		many = append(many, strings.Repeat("n", 1+i%60)+"-"+string(rune('a'+i%26))+strings.Repeat("m", i/60))
	}
	g := newGuarded(t, false, many...)
	if got := g.get(t, ana, "/api/v1/traces").Header().Get(unaskedHeader); got != "3" {
		t.Errorf("got %q", got)
	}
	if got := newGuarded(t, false, "shop").get(t, ana, "/api/v1/traces").Header().Get(unaskedHeader); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestUndecidedCheck: a question without a decision is a 503 with a sentence, a line in the log and a note in the
// readiness, until the next decision.
func TestUndecidedCheck(t *testing.T) {
	g := newGuarded(t, false, "shop")
	g.down = errors.New("connection refused")
	for range 2 {
		w := g.get(t, ana, "/api/v1/traces")
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "so nothing is shown") {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	if n := strings.Count(g.log.String(), "callers get no answer"); n != 1 {
		t.Errorf("%d lines: %s", n, g.log)
	}
	g.down = nil
	if w := g.get(t, ana, "/api/v1/traces"); w.Code != http.StatusOK {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestUnlisted: a path without a right is nobody's, and a path without data is that of each known caller.
func TestUnlisted(t *testing.T) {
	p := &permitting{gate: store.NewGate(nil, store.Whole)}
	callers := identity.New(identity.Options{Doors: []identity.Door{newNamed()}})
	for path, want := range map[string]error{"/api/v1/nothing": unlistedError{}, "/api/dependencies": nil} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("User", ana)
		callers.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			access, err := p.access(r)
			if !errors.Is(err, want) || err == nil && access.All() {
				t.Errorf("%s: got %v, want %v", path, err, want)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	}
}
