// SPDX-License-Identifier: Apache-2.0

package journal

// ForgetKept is forgetKept with a bound, for tests.
var ForgetKept = (*Journal).forgetKept
