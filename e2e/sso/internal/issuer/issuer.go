// SPDX-License-Identifier: Apache-2.0

// Package issuer builds and runs an OpenID provider with users and a page to log in. The provider and the page are
// those of zitadel/oidc, unchanged; the users have groups.
package issuer

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Client is an application that asks for tokens. With a secret it is a server, without one a program of the user.
type Client struct {
	ID, Secret   string
	RedirectURIs []string
}

// User can log in. Each token has the email address and the groups.
type User struct {
	Password, Email string
	Groups          []string
}

// Issuer is a provider at an address, which may run.
type Issuer struct {
	// Address is its host:port, and CAFile has the authority of its certificate.
	Address, CAFile string

	certFile, keyFile string
}

// New chooses the address of an issuer and makes its certificate. The files are in dir. It starts nothing.
func New(dir string) (*Issuer, error) {
	address, err := harness.FreeAddress()
	if err != nil {
		return nil, err
	}
	i := &Issuer{
		Address: address, CAFile: filepath.Join(dir, "issuer.crt"),
		certFile: filepath.Join(dir, "issuer.crt"), keyFile: filepath.Join(dir, "issuer.key"),
	}
	return i, certify(i.certFile, i.keyFile)
}

// URL is the issuer in its tokens.
func (i *Issuer) URL() string { return "https://" + i.Address }

// Run runs the issuer for as long as a test takes, with these clients, and users by their names.
func (i *Issuer) Run(t testing.TB, clients []Client, users map[string]User) {
	t.Helper()
	path, err := Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"Address": i.Address, "CertFile": i.certFile, "KeyFile": i.keyFile, "Clients": clients, "Users": users,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "issuer.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, program.Call{Path: path, Args: []string{file}})
	harness.Eventually(t, "the issuer listening", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", i.Address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
