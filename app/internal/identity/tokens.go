// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// acceptedTime and refusedTime are the times for which the check of a token holds.
	acceptedTime, refusedTime = 30 * time.Second, 10 * time.Second
	// maxTokens bounds the cache of tokens.
	maxTokens = 10_000
	// patience bounds the check of a token, and parallel the checks at a time.
	patience = 3 * time.Second
	parallel = 16
)

// claims are the fields of a token that say who checks it. Before the check they prove nothing.
type claims struct {
	Issuer   string   `json:"iss"`
	Audience audience `json:"aud"`
}

// audience is one text, or a list.
type audience []string

// UnmarshalJSON reads both forms.
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// checker checks the tokens of one kind.
type checker interface {
	// knows reports whether the token is of this kind, by what it says itself.
	knows(c claims) bool
	// check returns the user of a token. An error that wraps errUndecided is no decision.
	check(ctx context.Context, token string) (user.Info, error)
}

// errUndecided marks an error of the service that decides, as opposed to one of the token.
var errUndecided = errors.New("no decision")

// Tokens checks bearer tokens, and caches the result. It is safe for concurrent use.
type Tokens struct {
	checkers []checker
	known    *cache.LRUExpireCache
	patience time.Duration
	turns    chan struct{}
}

// NewTokens returns Tokens that accept what one of the given kinds accepts.
func NewTokens(c clock.PassiveClock, kinds ...Kind) *Tokens {
	if c == nil {
		c = clock.RealClock{}
	}
	t := &Tokens{
		known: cache.NewLRUExpireCacheWithClock(maxTokens, c), patience: patience, turns: make(chan struct{}, parallel),
	}
	for _, k := range kinds {
		t.checkers = append(t.checkers, k.of)
	}
	return t
}

// Kind is one kind of tokens.
type Kind struct{ of checker }

// result is the check of a token.
type result struct {
	user user.Info
	err  error
}

// check returns the user of a token, or a RefusedError.
func (t *Tokens) check(ctx context.Context, token string) (user.Info, error) {
	key := sha256.Sum256([]byte(token))
	if found, ok := t.known.Get(key); ok {
		r := found.(result) //nolint:forcetypeassert // the cache has no others
		return r.user, r.err
	}
	with, err := t.checker(token)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	select {
	case t.turns <- struct{}{}:
		defer func() { <-t.turns }()
	case <-ctx.Done():
		return nil, unavailable("the token cannot be checked now: too many tokens wait for it")
	}
	u, err := with.check(ctx, token)
	switch {
	case err == nil:
		t.known.Add(key, result{user: u}, acceptedTime)
		return u, nil
	case errors.Is(err, errUndecided), ctx.Err() != nil:
		return nil, unavailable("the token cannot be checked now: %s", object.OneLine(err.Error(), 300))
	}
	refused := unknown("the token is not accepted: %s", object.OneLine(err.Error(), 300))
	t.known.Add(key, result{err: refused}, refusedTime)
	return nil, refused
}

// checker returns the checker of a token. A token for another audience goes nowhere.
func (t *Tokens) checker(token string) (checker, error) {
	said, err := read(token)
	if err != nil {
		return nil, unknown("the token is not accepted: %s", err.Error())
	}
	i := slices.IndexFunc(t.checkers, func(c checker) bool { return c.knows(said) })
	if i < 0 {
		return nil, unknown("the token is not for this server: it has the issuer %.120q and the audience %.120q; "+
			"never send a token of your kubeconfig here", said.Issuer, strings.Join(said.Audience, " "))
	}
	return t.checkers[i], nil
}

// read returns what a token says of itself.
func read(token string) (said claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return said, errors.New("it is no JSON Web Token")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return said, errors.New("it is no JSON Web Token")
	}
	if err := json.Unmarshal(payload, &said); err != nil {
		return said, errors.New("it is no JSON Web Token")
	}
	return said, nil
}

// undecided marks an error as one of the service that decides.
func undecided(err error) error { return fmt.Errorf("%w: %w", errUndecided, err) }
