// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// advise adds the known remedy to an error about a Lease.
func advise(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; grant the rights that `lifeline rbac` prints for this configuration", err)
	}
	return err
}
