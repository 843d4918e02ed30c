// SPDX-License-Identifier: Apache-2.0

package relay

import "fmt"

// frame is one message of a call, not decoded.
type frame struct{ data []byte }

// frames is the codec of frames.
type frames struct{}

func (frames) Marshal(v any) ([]byte, error) {
	f, is := v.(*frame)
	if !is {
		return nil, fmt.Errorf("cannot forward a %T", v)
	}
	return f.data, nil
}

// Unmarshal keeps data: the caller gives it away.
func (frames) Unmarshal(data []byte, v any) error {
	f, is := v.(*frame)
	if !is {
		return fmt.Errorf("cannot forward a %T", v)
	}
	f.data = data
	return nil
}

// Name is that of the codec whose messages these are.
func (frames) Name() string { return "proto" }
