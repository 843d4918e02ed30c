// SPDX-License-Identifier: Apache-2.0

// Package identity finds out who sends a request. There are three doors:
//
//   - the API server, which sends its caller in headers under its own client certificate;
//   - the caller itself, with a token of a ServiceAccount, an OIDC ID token or a client certificate;
//   - a proxy that authenticates, which sends its caller in headers under its client certificate.
//
// Wrap deletes the headers of all doors from each request, so that nothing behind it can take a forged one for
// true. What the caller may see, package permission finds.
package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Door is a way to know a caller by its connection. Its AuthenticateRequest returns false if the request has
// nothing for this door.
type Door interface {
	authenticator.Request
	// Run follows the certificate authorities of the door until ctx ends.
	Run(ctx context.Context)
	// clear deletes the headers of the door.
	clear(h http.Header)
}

// Options configure an Authenticator. Without any door each request fails.
type Options struct {
	// Doors are tried in this order, before the tokens.
	Doors []Door
	// Tokens check tokens: the first one that knows the issuer or audience decides. Nil means that no token is
	// accepted.
	Tokens *Tokens
}

// Authenticator finds the callers of one listener. It is safe for concurrent use.
type Authenticator struct {
	doors  []Door
	tokens *Tokens
}

// New returns an Authenticator.
func New(o Options) *Authenticator { return &Authenticator{o.Doors, o.Tokens} }

// Run follows certificate authorities until ctx ends. Before it has begun, doors with such an authority may
// refuse requests.
func (a *Authenticator) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, d := range a.doors {
		all.Go(func() { d.Run(ctx) })
	}
	all.Wait()
	return nil
}

// caller is the sender of a request.
type caller struct {
	user user.Info
	// token is to be checked, and tokens checks it; empty if user or err is known.
	token  string
	tokens *Tokens
	err    error
}

type callerKey struct{}

// Wrap returns a handler with the caller of each request for Of. It refuses none.
func (a *Authenticator) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := a.callerOf(r)
		Clear(r.Header)
		for _, d := range a.doors {
			d.clear(r.Header)
		}
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

func (a *Authenticator) callerOf(r *http.Request) *caller {
	var refused error
	for _, d := range a.doors {
		found, ok, err := d.AuthenticateRequest(r)
		switch {
		case ok && err == nil:
			return &caller{user: found.User}
		case err != nil && refused == nil:
			refused = err
		}
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	switch {
	case token != "" && strings.EqualFold(scheme, "Bearer") && a.tokens != nil:
		return &caller{token: token, tokens: a.tokens}
	case refused != nil:
		return &caller{err: unknown("the client certificate is not accepted: %s",
			object.OneLine(refused.Error(), 300))}
	case token != "":
		return &caller{err: unknown("this server accepts no %.20q credentials here", scheme)}
	}
	return &caller{err: errNobody}
}

// Of returns the caller of a request that Wrap has passed on. The error is a *RefusedError, or that of the context. A
// token is checked again at each call, within the time of a cache: a stream can ask whether it still holds.
func Of(r *http.Request) (user.Info, error) {
	c, _ := r.Context().Value(callerKey{}).(*caller)
	switch {
	case c == nil:
		return nil, errNobody
	case c.token != "":
		return c.tokens.check(r.Context(), c.token)
	case c.err != nil:
		return nil, c.err
	}
	return c.user, nil
}

// RefusedError is the error of a request whose caller is not known.
type RefusedError struct {
	status int
	text   string
}

// Error returns one sentence for the caller.
func (r *RefusedError) Error() string { return r.text }

// Status is the HTTP status: 401, or 503 if nobody can decide now.
func (r *RefusedError) Status() int { return r.status }

var errNobody = unknown("this server must know who you are: use the commands of lifeline with your kubeconfig, " +
	"or send Authorization: Bearer TOKEN")

func unknown(format string, args ...any) *RefusedError {
	return &RefusedError{http.StatusUnauthorized, fmt.Sprintf(format, args...)}
}

func unavailable(format string, args ...any) *RefusedError {
	return &RefusedError{http.StatusServiceUnavailable, fmt.Sprintf(format, args...)}
}

// errSystem is the error of a name that only the cluster itself may give.
var errSystem = errors.New(`a name that begins with "system:" is the cluster's own`)

const systemPrefix = "system:"

// foreign returns a user whose name is not from the cluster, as the API server would know it. Groups of the
// cluster itself are left out.
func foreign(u *user.DefaultInfo) (user.Info, error) {
	if u.Name == "" {
		return nil, errors.New("it has no name of a user")
	}
	if strings.HasPrefix(u.Name, systemPrefix) {
		return nil, errSystem
	}
	u.Groups = slices.DeleteFunc(slices.Clone(u.Groups), func(g string) bool {
		return g == "" || strings.HasPrefix(g, systemPrefix)
	})
	u.Groups = append(u.Groups, user.AllAuthenticated)
	return u, nil
}
