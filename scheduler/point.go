// SPDX-License-Identifier: Apache-2.0

package scheduler

// point is an extension point of the scheduling framework.
type point int

const (
	pointPreFilter point = iota
	pointFilter
	pointPostFilter
	pointPreScore
	pointScore
	pointReserve
	pointPermit
	pointUnreserve
	pointWaitOnPermit
	pointPreBind
	pointBind
	pointPostBind
	points // their number
)

// pointNames are the names of Kubernetes' metrics.
var pointNames = [points]string{
	pointPreFilter:    "PreFilter",
	pointFilter:       "Filter",
	pointPostFilter:   "PostFilter",
	pointPreScore:     "PreScore",
	pointScore:        "Score",
	pointReserve:      "Reserve",
	pointPermit:       "Permit",
	pointUnreserve:    "Unreserve",
	pointWaitOnPermit: "WaitOnPermit",
	pointPreBind:      "PreBind",
	pointBind:         "Bind",
	pointPostBind:     "PostBind",
}

// binding reports whether the point belongs to the binding cycle.
func (p point) binding() bool { return p >= pointWaitOnPermit }
