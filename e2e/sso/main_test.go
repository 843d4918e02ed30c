// SPDX-License-Identifier: Apache-2.0

// Package sso tests single sign-on: an OpenID issuer whose users the API server accepts, and oauth2-proxy in front of
// the page of a server. Both find out who somebody is; what they see is what the cluster lets them see.
package sso

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/sso/internal/issuer"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster, whose API server accepts tokens of provider.
	bench    *harness.Bench
	provider *issuer.Issuer
)

// groupsPrefix begins the names of the issuer's groups in the cluster.
const groupsPrefix = "sso:"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lifeline-sso-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "authentication.yaml")
	if provider, err = issuer.New(dir); err == nil {
		err = configure(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return harness.MainSlow(m, lab.Options{
		Nodes:     lab.NodesKWOK,
		ExtraArgs: map[lab.Component][]string{lab.APIServer: {"--authentication-config=" + file}},
	}, &bench)
}

// configure writes the configuration of the API server's authentication.
func configure(file string) error {
	authority, err := os.ReadFile(provider.CAFile)
	if err != nil {
		return err
	}
	text, err := authentication(provider.URL(), string(authority))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
