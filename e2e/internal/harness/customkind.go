// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"strings"
)

// CustomKind is the manifest of a namespaced custom kind in version v1, with a status subresource and any
// content. Its plural is the kind in small letters with an s.
func CustomKind(kind, group string) string { return CustomKindOf(kind, group, "v1") }

// CustomKindOf is CustomKind in another version. The annotation allows the API groups of Kubernetes.
func CustomKindOf(kind, group, version string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[3]s, annotations: {api-approved.kubernetes.io: "unapproved, a test"}}
spec:
  group: %[3]s
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}
  versions:
  - name: %[4]s
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, strings.ToLower(kind), kind, group, version)
}
