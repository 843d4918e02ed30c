// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// configMap is a manifest of one; data is a line such as "a: b".
func configMap(namespace, name, data string) string {
	return fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {%s}\n",
		name,
		namespace,
		data,
	)
}

// outline compares the traces of a result with what was written by hand.
func outline(t *testing.T, r harness.Result, want ...string) {
	t.Helper()
	harness.Names{}.Expect(t, r, want...)
}

// namedOutline is outline where controllers have made up names.
func namedOutline(t *testing.T, namespace string, r harness.Result, want ...string) {
	t.Helper()
	bench.NamesIn(t, namespace).Expect(t, r, want...)
}

// service is a Service without endpoints.
func service(namespace, name string) string {
	return fmt.Sprintf(
		"apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\nspec: {ports: [{port: 80}]}\n",
		name,
		namespace,
	)
}
