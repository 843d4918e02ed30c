// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"encoding/pem"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviews is an API server that knows one token.
type reviews struct {
	token     string
	audiences []string
	err       error
	asked     int
}

func (r *reviews) Create(
	ctx context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	r.asked++
	if r.err != nil {
		return nil, r.err
	}
	if review.Spec.Token == r.token {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: r.audiences,
			User: authenticationv1.UserInfo{
				Username: "system:serviceaccount:shop:ci", Groups: []string{"system:serviceaccounts"},
			},
		}
	}
	return review, ctx.Err()
}

// unsigned returns a token with a payload.
func unsigned(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestServiceAccounts(t *testing.T) {
	ours := unsigned(`{"aud":["lifeline"],"iss":"https://kubernetes.default.svc"}`)
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	cases := map[string]struct {
		reason string
		token  string
		known  []string
		err    error
		status int
		text   string
		asked  int
	}{
		"accepted": {"", ours, []string{"lifeline"}, nil, 0, "", 1},
		"other audience": {
			"the cluster's own token never goes anywhere",
			unsigned(`{"aud":["https://kubernetes.default.svc"],"iss":"x"}`), nil, nil, 401,
			"never send a token of your kubeconfig here", 0,
		},
		"one audience": {
			"the text form", unsigned(`{"aud":"lifeline"}`), nil, nil, 401, "the API server does not know it", 1,
		},
		"no audience": {"", unsigned(`{}`), nil, nil, 401, "not for this server", 0},
		"no token":    {"", "abc", nil, nil, 401, "no JSON Web Token", 0},
		"no payload":  {"", "a.?.c", nil, nil, 401, "no JSON Web Token", 0},
		"no JSON":     {"", unsigned("["), nil, nil, 401, "no JSON Web Token", 0},
		"audience ignored": {
			"an authenticator that does not know audiences", ours, nil, nil, 401, "has not checked its audience", 1,
		},
		"no right": {"", ours, nil, forbidden, 503, "system:auth-delegator", 1},
		"unreachable": {
			"", ours, nil, errors.New("connection refused"), 503,
			"cannot be checked now: no decision: connection refused", 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			r := &reviews{token: ours, audiences: tc.known, err: tc.err}
			a := New(Options{Tokens: NewTokens(nil, ServiceAccounts(r, []string{"lifeline"}))})
			u, _, err := send(t, a, nil, bearer(tc.token))
			if r.asked != tc.asked {
				t.Errorf("%d reviews, want %d", r.asked, tc.asked)
			}
			if tc.status == 0 {
				if err != nil || u.GetName() != "system:serviceaccount:shop:ci" {
					t.Errorf("got %v, %v", u, err)
				}
				return
			}
			var refusal *RefusedError
			if !errors.As(err, &refusal) || refusal.Status() != tc.status || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %d and %q", err, tc.status, tc.text)
			}
			if strings.Contains(err.Error(), tc.token) {
				t.Error("the error has the token")
			}
		})
	}
}

// TestTokenCache: an accepted token is checked again after 30 s, a refused one after 10 s. A stream notices both.
func TestTokenCache(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	ours := unsigned(`{"aud":["lifeline"]}`)
	r := &reviews{token: ours, audiences: []string{"lifeline"}}
	a := New(Options{Tokens: NewTokens(clock, ServiceAccounts(r, []string{"lifeline"}))})
	_, stream, err := send(t, a, nil, bearer(ours))
	if err != nil {
		t.Fatal(err)
	}
	r.token = "another"
	for _, step := range []struct {
		passed time.Duration
		asked  int
		known  bool
	}{
		{29 * time.Second, 1, true}, {2 * time.Second, 2, false},
		{9 * time.Second, 2, false}, {2 * time.Second, 3, false},
	} {
		clock.SetTime(clock.Now().Add(step.passed))
		if _, err := Of(stream); (err == nil) != step.known || r.asked != step.asked {
			t.Errorf("after %s: %v, %d reviews, want %d", step.passed, err, r.asked, step.asked)
		}
	}
	r.err = errors.New("down")
	clock.SetTime(clock.Now().Add(time.Minute))
	for range 2 {
		asked := r.asked
		if _, err := Of(stream); err == nil || r.asked != asked+1 {
			t.Errorf("got %v after %d reviews: no decision is not cached", err, r.asked-asked)
		}
	}
}

// provider is an OIDC issuer.
type provider struct {
	*httptest.Server
	key    *ecdsa.PrivateKey
	caFile string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, caFile: filepath.Join(t.TempDir(), "ca.crt")}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]any{
				"issuer": p.URL, "jwks_uri": p.URL + "/keys",
				"id_token_signing_alg_values_supported": []string{"ES256"},
			})
		case "/keys":
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
				{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"},
			}})
		}
	}))
	t.Cleanup(p.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(p.caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *provider) token(t *testing.T, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	with := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}
	signer, err := jose.NewSigner(with, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{
		"iss": p.URL, "aud": "lifeline", "sub": "42", "exp": time.Now().Add(time.Hour).Unix(),
		"email":  "ana@example.com",
		"groups": []string{"dev", "system:masters"},
	}
	for name, value := range claims {
		all[name] = value
	}
	payload, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestIDTokens(t *testing.T) {
	p := newProvider(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	email := Issuer{UsernameClaim: "email", GroupsClaim: "groups"}
	cases := map[string]struct {
		reason string
		of     Issuer
		key    *ecdsa.PrivateKey
		claims map[string]any
		want   *user.DefaultInfo
		text   string
	}{
		"subject": {
			"the default", Issuer{}, p.key, nil,
			&user.DefaultInfo{Name: "42", Groups: []string{"system:authenticated"}}, "",
		},
		"email": {
			"groups of the cluster are left out", email, p.key, nil,
			&user.DefaultInfo{Name: "ana@example.com", Groups: []string{"dev", "system:authenticated"}}, "",
		},
		"prefixes": {
			"as at the API server", Issuer{UsernamePrefix: "sso:", GroupsClaim: "groups", GroupsPrefix: "sso:"},
			p.key, nil,
			&user.DefaultInfo{
				Name: "sso:42", Groups: []string{"sso:dev", "sso:system:masters", "system:authenticated"},
			},
			"",
		},
		"one group": {
			"a text", email, p.key, map[string]any{"groups": "ops"},
			&user.DefaultInfo{Name: "ana@example.com", Groups: []string{"ops", "system:authenticated"}}, "",
		},
		"unverified": {
			"", email, p.key, map[string]any{"email_verified": false}, nil, "its email address is not verified",
		},
		"as the cluster": {"", email, p.key, map[string]any{"email": "system:admin"}, nil, `begins with "system:"`},
		"no name":        {"", email, p.key, map[string]any{"email": 7}, nil, `no text in the claim "email"`},
		"wrong groups":   {"", email, p.key, map[string]any{"groups": 7}, nil, `list of texts in the claim "groups"`},
		"other client": {
			"a token of the cluster's own client", email, p.key, map[string]any{"aud": "kubernetes"}, nil,
			"not for this server",
		},
		"other issuer": {
			"", email, p.key, map[string]any{"iss": "https://other.example.com"}, nil, "not for this server",
		},
		"expired": {
			"", email, p.key, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, nil, "token is expired",
		},
		"forged": {"another key", email, stranger, nil, nil, "failed to verify signature"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			tc.of.URL, tc.of.ClientID, tc.of.CAFile = p.URL, "lifeline", p.caFile
			a := New(Options{Tokens: NewTokens(nil, IDTokens(tc.of, time.Now))})
			u, _, err := send(t, a, nil, bearer(p.token(t, tc.key, tc.claims)))
			if tc.want == nil {
				var refusal *RefusedError
				if !errors.As(err, &refusal) || refusal.Status() != 401 || !strings.Contains(err.Error(), tc.text) {
					t.Errorf("got %v, %v, want 401 and %q", u, err, tc.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, u); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("no algorithm", func(t *testing.T) {
		token := unsigned(`{"iss":"` + p.URL + `","aud":"lifeline","sub":"42","exp":99999999999}`)
		of := Issuer{URL: p.URL, ClientID: "lifeline", CAFile: p.caFile}
		a := New(Options{Tokens: NewTokens(nil, IDTokens(of, time.Now))})
		if u, _, err := send(t, a, nil, bearer(token)); err == nil {
			t.Errorf("got %v", u)
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		token := p.token(t, p.key, nil)
		p.Close()
		of := Issuer{URL: p.URL, ClientID: "lifeline", CAFile: p.caFile}
		a := New(Options{Tokens: NewTokens(nil, IDTokens(of, time.Now))})
		var refusal *RefusedError
		if _, _, err := send(t, a, nil, bearer(token)); !errors.As(err, &refusal) || refusal.Status() != 503 {
			t.Errorf("got %v, want 503", err)
		}
	})
}
