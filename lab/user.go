// SPDX-License-Identifier: Apache-2.0

package lab

const (
	adminUser  = "admin"
	adminGroup = "system:masters"
)
