// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

func TestChooseNetwork(t *testing.T) {
	cases := map[string]struct {
		reason string
		taken  []string
		first  byte
		subnet string
		node   string
		fails  bool
	}{
		"Free": {
			reason: "the first choice is taken if it is free",
			taken:  []string{"192.0.2.0/24"},
			first:  7,
			subnet: "10.213.7.0/24",
			node:   "10.213.7.1",
		},
		"Taken": {
			reason: "networks in use are passed over, also those that are larger or smaller, and the search " +
				"wraps around",
			taken:  []string{"10.213.254.0/23", "10.213.0.128/25"},
			first:  254,
			subnet: "10.213.1.0/24",
			node:   "10.213.1.1",
		},
		"AllTaken": {
			reason: "a machine whose own network covers all choices has none",
			taken:  []string{"10.0.0.0/8"},
			fails:  true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var taken []netip.Prefix
			for _, text := range tc.taken {
				taken = append(taken, netip.MustParsePrefix(text))
			}
			got, err := chooseNetwork(taken, tc.first)
			if tc.fails {
				if err == nil {
					t.Errorf("\n%s\ngot %v, want an error", tc.reason, got)
				}
				return
			}
			if err != nil {
				t.Fatalf("\n%s\ngot %v", tc.reason, err)
			}
			if diff := cmp.Diff(
				[]string{tc.subnet, tc.node},
				[]string{got.subnet.String(), got.node.String()},
			); diff != "" {
				t.Errorf("\n%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWhole(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		reason string
		fails  int
		err    error
		want   []int
		asked  int
		given  bool // the error is passed on
	}{
		"Calm": {reason: "a list is asked for once", want: []int{1, 2}, asked: 1},
		"Interrupted": {
			reason: "what may be incomplete is asked for again",
			fails:  3,
			err:    netlink.ErrDumpInterrupted,
			want:   []int{1, 2},
			asked:  4,
		},
		"Endless": {
			reason: "but not for ever",
			fails:  1 << 20,
			err:    netlink.ErrDumpInterrupted,
			want:   []int{1},
			asked:  listAttempts,
			given:  true,
		},
		"Broken": {reason: "another error stands", fails: 1, err: broken, want: []int{1}, asked: 1, given: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			got, err := whole(func() ([]int, error) {
				if asked++; asked <= tc.fails {
					return []int{1}, tc.err
				}
				return []int{1, 2}, nil
			})
			if !slices.Equal(got, tc.want) || asked != tc.asked || (err != nil) != tc.given ||
				tc.given && !errors.Is(err, tc.err) {
				t.Errorf("%s: got %v, %v after %d requests", tc.reason, got, err, asked)
			}
		})
	}
}
