// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/permission"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// unaskedHeader has the number of namespaces that an answer leaves out because their rights were not reviewed.
const unaskedHeader = "Lifeline-Unasked"

// permitting gives each caller the access that the cluster permits.
type permitting struct {
	gate     *store.Gate
	reviewer *permission.Reviewer
	// audits reports whether requests are logged.
	audits func() bool
	now    func() time.Time
	log    *slog.Logger
	// undecided is the text of the last question without a decision; empty after a decision.
	undecided atomic.Pointer[string]
	shares    shares
}

// decided notes whether a question had a decision. It logs each new reason for none.
func (p *permitting) decided(err error) {
	var without *permission.RefusedError
	text := ""
	if errors.As(err, &without) && without.Status() == http.StatusServiceUnavailable {
		text = without.Error()
	}
	if was := p.undecided.Swap(&text); text != "" && (was == nil || *was != text) {
		p.log.Warn("callers get no answer", "error", text, "cause", without.Unwrap())
	}
}

// check is a check of health.
func (p *permitting) check() error {
	if text := p.undecided.Load(); text != nil && *text != "" {
		return errors.New(*text)
	}
	return nil
}

// access returns what the sender of a request may see. A path that is not in the table of rights has no access.
func (p *permitting) access(r *http.Request) (store.Access, error) {
	n := noteOf(r.Context())
	caller, err := identity.Of(r)
	if err != nil {
		return store.Access{}, err
	}
	if n.header != nil && !n.counted {
		if err := p.shares.take(caller.GetName()); err != nil {
			return store.Access{}, err
		}
		n.counted, n.user = true, caller.GetName()
	}
	ask, err := askOf(r)
	switch {
	case err != nil:
		return store.Access{}, err
	case ask.Verb == "":
		return p.gate.For(store.Scope{Namespaces: []string{}}), nil // the answer has no data
	}
	ask.Again = n.lasts(p.now())
	scope, unasked, err := p.reviewer.Scope(r.Context(), caller, ask)
	n.asked(caller, ask, scope, unasked, p.now())
	p.decided(err)
	if err != nil {
		return store.Access{}, err
	}
	return p.gate.For(scope), nil
}

// unlistedError is the error of a path without a right.
type unlistedError struct{}

func (unlistedError) Error() string {
	return "this path has no right in the cluster, so nobody may read it"
}
func (unlistedError) Status() int { return http.StatusForbidden }

// ofServer and ofCommands are the subresources that need the right in the whole cluster: the configuration of the
// server is no namespace's, and an announced command may write in all of them.
const ofServer, ofCommands = "sources", "runs"

// askOf returns the question of a request: its right, and the namespace of its path.
func askOf(r *http.Request) (permission.Ask, error) {
	e, ok := kubeapi.EndpointOf(r)
	if !ok {
		return permission.Ask{}, unlistedError{}
	}
	ask := permission.Ask{
		Verb: e.Verb, Subresource: e.Subresource, Whole: e.Subresource == ofServer || e.Subresource == ofCommands,
	}
	if ns, narrowed := kubeapi.NamespaceOf(r.Context()); narrowed {
		ask.Namespaces = []string{ns}
	}
	return ask, nil
}

// note is what is known of one request for data.
type note struct {
	// header is that of the answer; nil for a request outside of wrap.
	header http.Header
	// counted: the request counts for the share of the user.
	counted    bool
	user       string
	groups     int
	right      string
	namespaces []string
	everywhere bool
	// first is the time of the first question.
	first time.Time
}

// lasting is the time after which the questions of a request are those of a stream.
const lasting = 5 * time.Second

// lasts reports whether the request is a stream that repeats its question.
func (n *note) lasts(now time.Time) bool { return !n.first.IsZero() && now.Sub(n.first) >= lasting }

type noteKey struct{}

func noteOf(ctx context.Context) *note {
	n, _ := ctx.Value(noteKey{}).(*note)
	if n == nil {
		n = &note{}
	}
	return n
}

// asked notes the caller and the scope of a request. The first question counts: a stream repeats it.
func (n *note) asked(
	caller user.Info, ask permission.Ask, scope store.Scope, unasked permission.Unasked, now time.Time,
) {
	if n.right != "" {
		return
	}
	n.first = now
	if unasked > 0 && n.header != nil {
		n.header.Set(unaskedHeader, strconv.Itoa(int(unasked)))
	}
	n.user, n.groups = caller.GetName(), len(caller.GetGroups())
	n.right = ask.Verb + " " + permission.Resource
	if ask.Subresource != "" {
		n.right += "/" + ask.Subresource
	}
	n.namespaces, n.everywhere = scope.Namespaces, scope.Namespaces == nil
}

// maxNoted bounds the namespaces in a line of the log, and maxText its texts in bytes.
const maxNoted, maxText = 10, 256

// wrap returns a handler that logs the requests for data, if that is configured.
func (p *permitting) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := &note{header: w.Header()}
		path := r.URL.Path // before a handler rewrites it
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		defer func() {
			if n.counted {
				p.shares.release(n.user)
			}
		}()
		if !p.audits() {
			next.ServeHTTP(w, r)
			return
		}
		out, began := &status{ResponseWriter: w}, p.now()
		defer func() { p.audit(r, path, n, out.code, p.now().Sub(began)) }()
		next.ServeHTTP(out, r)
	})
}

// audit logs one request. It has no parameters and nothing of the answer.
func (p *permitting) audit(r *http.Request, path string, n *note, code int, took time.Duration) {
	if n.right == "" && code != http.StatusUnauthorized && code != http.StatusForbidden {
		return // it had no data
	}
	some := n.namespaces[:min(len(n.namespaces), maxNoted)]
	p.log.LogAttrs(r.Context(), slog.LevelInfo, "read",
		slog.String("user", object.OneLine(n.user, maxText)), slog.Int("groups", n.groups),
		slog.String("right", n.right), slog.String("path", object.OneLine(path, maxText)),
		slog.Bool("everywhere", n.everywhere), slog.Any("namespaces", some), slog.Int("of", len(n.namespaces)),
		slog.Int("status", code), slog.Duration("duration", took), slog.String("client", r.RemoteAddr))
}

// status records the status of a response; 200 before its first byte.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if s.code == 0 {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(b []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
