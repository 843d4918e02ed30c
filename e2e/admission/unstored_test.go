// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// policy refuses, after all that may change an object, what carries a label.
const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refused}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [replicasets, configmaps, ` +
	`deployments]}
  validations:
  - {expression: "!has(object.metadata.labels) || !('refused' in object.metadata.labels)", message: "not this one"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refused}
spec: {policyName: refused, validationActions: [Deny]}
`

// TestNothingStored: what is admitted and not stored leaves nothing behind, neither
// on an object nor in what the webhook remembers.
func TestNothingStored(t *testing.T) {
	ledger := follow(t)
	h := newHook(t)
	h.start(t)
	h.install(t)
	bench.MustKubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { _, _ = bench.RunKubectl(t.Context(), strings.NewReader(policy), "delete", "-f", "-") })
	s := newStage(t, ledger)
	harness.Eventually(t, "the policy refusing", func() bool {
		_, err := s.refused(refused(settingsMap("1")), "create", "--dry-run=server", "-f", "-")
		return err != nil
	})

	t.Run("dry run of a creation", func(t *testing.T) {
		s := newStage(t, ledger)
		if h := read(s, s.stdin(web(0, "web:1"), "create", "--dry-run=server", "-o", "json", "-f", "-")); h.IsValid() {
			t.Errorf("it would carry %s", id(h))
		}
		if h := read(
			s,
			s.stdin(task("generateName: made-"), "create", "--dry-run=server", "-o", "json", "-f", "-"),
		); h.IsValid() {
			t.Errorf("with a generated name it would carry %s", id(h))
		}
		if out := s.kubectl("get", "deployments,jobs", "-o", "name"); out != "" {
			t.Errorf("stored are %s", out)
		}
		apply(web(0, "web:1"))(s)
		s.fresh("created in earnest", "deployment/web")
	})
	t.Run("dry run of a change", func(t *testing.T) {
		s := newStage(t, ledger)
		apply(settingsMap("1"))(s)
		before := s.fresh("created", "configmap/settings")
		for _, how := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts"}, {"replace"}} {
			if h := read(
				s,
				s.stdin(settingsMap("2"), append(how, "--dry-run=server", "-o", "json", "-f", "-")...),
			); id(h) != id(before) {
				t.Errorf("kubectl %s would give it %s, it carries %s", how, id(h), id(before))
			}
		}
		s.still("tried", "configmap/settings", before)
		apply(settingsMap("2"))(s)
		s.fresh("changed in earnest", "configmap/settings", before)
	})
	t.Run("refused", func(t *testing.T) {
		s := newStage(t, ledger)
		if out, err := s.refused(refused(settingsMap("1")), "create", "-f", "-"); err == nil {
			t.Errorf("it was created: %s", out)
		}
		apply(settingsMap("1"))(s)
		before := s.fresh("created", "configmap/settings")
		if out, err := s.refused(refused(settingsMap("2")), "apply", "-f", "-"); err == nil {
			t.Errorf("it was changed: %s", out)
		}
		s.still("refused", "configmap/settings", before)
	})
	t.Run("remembered", func(t *testing.T) {
		tests := map[string]struct {
			reason string
			do     func(s *stage) error // what becomes of ReplicaSet alone
			want   bool
			// refused: the webhook is not told that others have refused what it
			// admitted, and forgets it only after some seconds.
			refused bool
		}{
			"created": {
				reason: "what is stored is what its Pods follow from",
				do:     func(s *stage) error { apply(job(1).from(set(0)))(s); return nil }, want: true,
			},
			"created by dry run": {
				reason: "there is no ReplicaSet that a Pod could follow from",
				do: func(s *stage) error {
					s.stdin(job(1).from(set(0)), "create", "--dry-run=server", "-f", "-")
					return nil
				},
			},
			"changed by dry run": {
				reason: "the ReplicaSet is what it was",
				do: func(s *stage) error {
					apply(set(0))(s)
					s.stdin(job(1).from(set(1)), "apply", "--dry-run=server", "-f", "-")
					return nil
				},
			},
			"created and refused": {
				reason: "there is no ReplicaSet that a Pod could follow from",
				do: func(s *stage) error {
					_, err := s.refused(refused(job(1).from(set(0))), "create", "-f", "-")
					return refusal(err)
				},
				refused: true,
			},
			"changed and refused": {
				reason: "the ReplicaSet is what it was",
				do: func(s *stage) error {
					apply(set(0))(s)
					_, err := s.refused(refused(job(1).from(set(1))), "apply", "-f", "-")
					return refusal(err)
				},
				refused: true,
			},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, ledger)
				s.no(tt.do(s))
				follows := func() bool { return s.below("alone").TraceID() == job(1).TraceID() }
				if tt.refused {
					harness.Within(
						t,
						time.Minute,
						"a Pod of it that follows from nothing: "+tt.reason,
						func() bool { return !follows() },
					)
					return
				}
				got := follows()
				for tries := 1; tt.want && !got && tries < 3; tries++ { // it is remembered for seconds only
					s = newStage(t, ledger)
					s.no(tt.do(s))
					got = follows()
				}
				if got != tt.want {
					t.Errorf("a Pod of it follows from the write: %t, want %t: %s", got, tt.want, tt.reason)
				}
			})
		}
	})
}

// refused is a manifest with the label for which the policy refuses it.
func refused(manifest string) string {
	for _, with := range []string{"  labels: {", "metadata: {"} {
		if strings.Contains(manifest, with) {
			label := "refused: \"true\", "
			if with == "metadata: {" {
				label = "labels: {refused: \"true\"}, "
			}
			return strings.Replace(manifest, with, with+label, 1)
		}
	}
	return manifest
}

func refusal(err error) error {
	if err == nil {
		return errors.New("the policy did not refuse it")
	}
	return nil
}

// refused runs kubectl, which may fail.
func (s *stage) refused(manifest string, args ...string) (string, error) {
	return bench.RunKubectl(s.Context(), strings.NewReader(manifest), append([]string{"-n", s.ns}, args...)...)
}

// below creates a Pod as the controller of a ReplicaSet would, which need not be
// there, and returns what it carries.
func (s *stage) below(set string) held {
	s.Helper()
	uid := types.UID("00000000-0000-4000-8000-000000000000")
	if out := s.kubectl("get", "replicaset", set, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"); out != "" {
		uid = types.UID(out)
	}
	return read(s, s.stdin(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  generateName: %s-
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: %s, controller: true}]
spec:
  containers: [{name: main, image: "registry.example/web:1"}]
`, set, set, uid), "create", "-o", "json", "-f", "-"))
}
