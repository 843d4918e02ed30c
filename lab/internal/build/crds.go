// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// extractCRDs copies the CustomResourceDefinitions of p from a Go module, in the
// version that the module in src pins, into the directory to. It replaces the contents of
// that directory.
func extractCRDs(ctx context.Context, src string, p program, to string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", p.crds.module)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot find the module of %s: %w", p.name, errors.Join(err, ctx.Err()))
	}
	from := filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(p.crds.dir))
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("cannot find the CustomResourceDefinitions of %s in %s: %w", p.name, from, err)
	}
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("cannot keep the CustomResourceDefinitions of %s: %w", p.name, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("cannot keep the CustomResourceDefinitions of %s: %w", p.name, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read the CustomResourceDefinitions of %s: %w", p.name, err)
		}
		if !bytes.Contains(data, []byte("kind: CustomResourceDefinition\n")) {
			continue // a kustomization.yaml
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), data, 0o644); err != nil {
			return fmt.Errorf("cannot keep the CustomResourceDefinitions of %s: %w", p.name, err)
		}
	}
	return nil
}
