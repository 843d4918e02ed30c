// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain ignores a goroutine that controller-runtime before 0.25 may leave behind at the end of a queue:
// https://github.com/kubernetes-sigs/controller-runtime/issues/3538.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems",
	))
}
