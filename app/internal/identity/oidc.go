// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Issuer is an OIDC issuer, with the client of its own that Lifeline is.
type Issuer struct {
	// URL is the issuer, and ClientID the required audience.
	URL, ClientID string
	// UsernameClaim and GroupsClaim are the claims with the user's name and groups; empty means "sub", and no
	// groups. The prefixes are those that the API server puts in front of them.
	UsernameClaim, UsernamePrefix, GroupsClaim, GroupsPrefix string
	// CAFile has the certificate authorities of the issuer in PEM; empty means the system's.
	CAFile string
}

// IDTokens returns the ID tokens of an issuer. The issuer is asked for its keys at the first token.
func IDTokens(of Issuer, now func() time.Time) Kind {
	if of.UsernameClaim == "" {
		of.UsernameClaim = "sub"
	}
	return Kind{&issuer{Issuer: of, now: now}}
}

type issuer struct {
	Issuer
	now func() time.Time

	mu sync.Mutex
	// verifier is nil until the issuer has answered. failed is the error of the last attempt, at a time.
	verifier *oidc.IDTokenVerifier
	failed   error
	at       time.Time
}

// retryPause is the shortest time between two attempts to reach an issuer.
const retryPause = 5 * time.Second

func (i *issuer) knows(c claims) bool {
	return c.Issuer == i.URL && slices.Contains(c.Audience, i.ClientID)
}

func (i *issuer) check(ctx context.Context, token string) (user.Info, error) {
	verifier, err := i.reached(ctx)
	if err != nil {
		return nil, undecided(fmt.Errorf("the issuer %s does not answer: %w", i.URL, err))
	}
	checked, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	var claims map[string]json.RawMessage
	if err := checked.Claims(&claims); err != nil {
		return nil, err
	}
	return i.user(claims)
}

// reached returns the verifier, with the issuer's keys.
func (i *issuer) reached(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.verifier != nil {
		return i.verifier, nil
	}
	if i.failed != nil && i.now().Sub(i.at) < retryPause {
		return nil, i.failed
	}
	i.verifier, i.failed = i.reach(ctx)
	i.at = i.now()
	return i.verifier, i.failed
}

func (i *issuer) reach(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	client, err := i.client()
	if err != nil {
		return nil, err
	}
	// The keys are read again later, when ctx has ended.
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	provider, err := oidc.NewProvider(oidc.ClientContext(lasting, client), i.URL)
	if err != nil {
		return nil, err
	}
	return provider.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), client), &oidc.Config{
		ClientID: i.ClientID, Now: i.now,
	}), nil
}

func (i *issuer) client() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // nobody replaces it
	if i.CAFile != "" {
		pem, err := os.ReadFile(i.CAFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the CA file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cannot use the CA file %s: it has no certificate in PEM", i.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	return &http.Client{Transport: transport, Timeout: patience}, nil
}

// user returns the user of the claims of a token that was checked.
func (i *issuer) user(claims map[string]json.RawMessage) (user.Info, error) {
	var name string
	if json.Unmarshal(claims[i.UsernameClaim], &name) != nil || name == "" {
		return nil, fmt.Errorf("it has no text in the claim %q", i.UsernameClaim)
	}
	if verified, ok := claims["email_verified"]; ok && i.UsernameClaim == "email" && string(verified) != "true" {
		return nil, errors.New("its email address is not verified")
	}
	u := &user.DefaultInfo{Name: i.UsernamePrefix + name}
	if i.GroupsClaim != "" && len(claims[i.GroupsClaim]) > 0 {
		var groups audience
		if groups.UnmarshalJSON(claims[i.GroupsClaim]) != nil {
			return nil, fmt.Errorf("it has neither a text nor a list of texts in the claim %q", i.GroupsClaim)
		}
		for _, g := range groups {
			u.Groups = append(u.Groups, i.GroupsPrefix+g)
		}
	}
	return foreign(u)
}
