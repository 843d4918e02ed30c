// SPDX-License-Identifier: Apache-2.0

package timestamp

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Seconds is a duration that is a number of seconds in JSON.
type Seconds time.Duration

// MarshalJSON writes the number.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON reads the number, to the nearest nanosecond.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	ns := math.Round(f * float64(time.Second))
	if math.Abs(ns) >= math.MaxInt64 {
		return fmt.Errorf("a duration of %g seconds is too long", f)
	}
	*s = Seconds(ns)
	return nil
}
