// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config is a kubeconfig, to be changed.
type Config = clientcmdapi.Config

// KubeconfigWith writes a changed copy of the administrator's kubeconfig for
// one test.
func (b *Bench) KubeconfigWith(t testing.TB, change func(*Config)) string {
	t.Helper()
	c := LoadKubeconfig(t, b.Kubeconfig())
	change(c)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatalf("cannot write a kubeconfig: %v", err)
	}
	return path
}

// LoadKubeconfig reads a kubeconfig.
func LoadKubeconfig(t testing.TB, path string) *Config {
	t.Helper()
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatalf("cannot read kubeconfig %s: %v", path, err)
	}
	return c
}
