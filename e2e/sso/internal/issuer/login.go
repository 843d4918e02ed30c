// SPDX-License-Identifier: Apache-2.0

package issuer

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
)

// verifier is the secret of a login by a program of the user (PKCE).
const verifier = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef"

// Login logs a user in at a client without a secret, as a program with a browser does, and returns the ID token.
func (i *Issuer) Login(t testing.TB, of Client, user, password string) string {
	t.Helper()
	token, err := i.login(t.Context(), of, user, password)
	if err != nil {
		t.Fatalf("cannot log %s in: %v", user, err)
	}
	return token
}

func (i *Issuer) login(ctx context.Context, of Client, user, password string) (string, error) {
	browser, err := i.browser()
	if err != nil {
		return "", err
	}
	back, challenge := of.RedirectURIs[0], sha256.Sum256([]byte(verifier))
	page, err := get(ctx, browser, i.URL()+"/auth?"+url.Values{
		"client_id": {of.ID}, "redirect_uri": {back}, "response_type": {"code"}, "state": {"s"},
		"scope":          {"openid profile email groups"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	if err != nil {
		return "", err
	}
	// The answer to the right password leads back to the client.
	browser.CheckRedirect = func(to *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(to.URL.String(), back) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	answer, err := post(ctx, browser, i.URL()+"/login/username", url.Values{
		"id": {page.Query().Get("authRequestID")}, "username": {user}, "password": {password},
	})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		return "", fmt.Errorf("the login was not accepted: %w", err)
	}
	answer, err = post(ctx, browser, i.URL()+"/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "redirect_uri": {back},
		"client_id": {of.ID}, "code_verifier": {verifier},
	})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var got struct {
		IDToken string `json:"id_token"`
		Error   string `json:"error_description"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return "", err
	}
	if got.IDToken == "" {
		return "", fmt.Errorf("no ID token: %s", got.Error)
	}
	return got.IDToken, nil
}

// browser returns a client that trusts the issuer and keeps cookies.
func (i *Issuer) browser() (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(i.CAFile)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, errors.New("the issuer has no authority")
	}
	return &http.Client{Jar: jar, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}, nil
}

// get returns the URL at the end of all redirects.
func get(ctx context.Context, browser *http.Client, from string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	res, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s: %s %s", res.Request.URL, res.Status, text)
	}
	return res.Request.URL, nil
}

func post(ctx context.Context, browser *http.Client, to string, form url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return browser.Do(req)
}
