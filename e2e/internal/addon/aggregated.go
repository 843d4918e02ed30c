// SPDX-License-Identifier: Apache-2.0

package addon

import "fmt"

// Flunder is the manifest of a Flunder with a reference, and metadata in YAML's flow style.
func Flunder(metadata, reference string) string {
	return fmt.Sprintf("apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: %s\nspec: {reference: %s}\n",
		metadata, reference)
}
