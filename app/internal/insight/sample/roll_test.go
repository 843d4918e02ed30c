// SPDX-License-Identifier: Apache-2.0

package sample_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pod returns a lifecycle of one phase beside the total. Names and values of attributes alternate, sorted.
func pod(after, pull time.Duration, attributes ...string) sample.Lifecycle {
	l := sample.Lifecycle{
		Start: epoch.Add(after), Phases: sample.Phases{"pull": pull, sample.Total: pull + time.Second},
	}
	for pair := range slices.Chunk(attributes, 2) {
		l.Attributes = append(l.Attributes, sample.Attribute{Name: pair[0], Value: pair[1]})
	}
	return l
}

func TestRoll(t *testing.T) {
	cases := map[string]struct {
		reason string
		pods   []sample.Lifecycle
		want   sample.Rollup
	}{
		"none": {reason: "no lifecycle, no sample", want: sample.Rollup{Kind: "Pod"}},
		"one": {
			reason: "a single object is a sample of its own, with the registry of its image",
			pods:   []sample.Lifecycle{pod(0, time.Second, "image", "web:1", "node", "a")},
			want: sample.Rollup{
				Kind: "Pod", Start: epoch, Count: 1,
				Phases:     sample.Phases{"pull": time.Second, "total": 2 * time.Second},
				Attributes: []sample.Attribute{{"image", "web:1"}, {"node", "a"}, {"registry", "docker.io"}},
			},
		},
		"two nodes": {
			reason: "shared attributes are those of the rollup, others those of its parts",
			pods: []sample.Lifecycle{
				pod(3, time.Second, "image", "x.io/web:1", "node", "b"),
				pod(1, 2*time.Second, "image", "x.io/web:1", "node", "a"),
				pod(2, 6*time.Second, "image", "x.io/web:1", "node", "b"),
			},
			want: sample.Rollup{
				Kind: "Pod", Start: epoch.Add(1), Count: 3,
				Phases:     sample.Phases{"pull": 2 * time.Second, "total": 3 * time.Second},
				Attributes: []sample.Attribute{{"image", "x.io/web:1"}, {"registry", "x.io"}},
				Parts: []sample.Part{
					{
						Count: 1, Phases: sample.Phases{"pull": 2 * time.Second, "total": 3 * time.Second},
						Attributes: []sample.Attribute{{"node", "a"}},
					},
					{
						Count:      2,
						Phases:     sample.Phases{"pull": 3500 * time.Millisecond, "total": 4500 * time.Millisecond},
						Attributes: []sample.Attribute{{"node", "b"}},
					},
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := sample.Roll(sample.Rollup{Kind: "Pod", Count: 9, Parts: make([]sample.Part, 3)}, tc.pods)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRollIsASet rolls random Pods in random orders.
func TestRollIsASet(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		var pods []sample.Lifecycle
		for range r.IntN(300) {
			d := time.Duration(r.Int64()) - math.MaxInt64/2
			node, zone := fmt.Sprint(r.IntN(100)), fmt.Sprint(r.IntN(3))
			pods = append(pods, pod(time.Duration(r.IntN(10)), d, "node", node, "zone", zone))
		}
		want := sample.Roll(sample.Rollup{}, pods)
		r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		if diff := cmp.Diff(want, sample.Roll(sample.Rollup{}, pods)); diff != "" {
			t.Fatalf("seed %d: another order gives another rollup: -want +got:\n%s", seed, diff)
		}
		if len(want.Parts) > sample.MaxParts {
			t.Fatalf("seed %d: %d parts", seed, len(want.Parts))
		}
	}
}

func TestMedian(t *testing.T) {
	const huge = time.Duration(math.MaxInt64)
	for want, of := range map[time.Duration][]time.Duration{
		0: nil, 5: {5}, 4: {3, 5}, 3: {1, 3, 9}, huge: {huge, huge}, -huge: {-huge, -huge}, 6: {5, 7},
	} {
		if got := sample.Median(of); got != want {
			t.Errorf("the median of %d is %d, want %d", of, got, want)
		}
	}
}

func TestRegistryOf(t *testing.T) {
	for image, want := range map[string]string{
		"":                                  "",
		"nginx":                             "docker.io",
		"nginx:1.27":                        "docker.io",
		"shop/web:1.2":                      "docker.io",
		"docker.io/library/nginx":           "docker.io",
		"index.docker.io/library/nginx":     "docker.io",
		"registry.example.com/shop/web:1.2": "registry.example.com",
		"localhost/web":                     "localhost",
		"localhost:5000/web":                "localhost:5000",
		"registry:5000/web@sha256:ab":       "registry:5000",
		"Upper/web":                         "Upper",
	} {
		if got := sample.RegistryOf(image); got != want {
			t.Errorf("the registry of %q is %q, want %q", image, got, want)
		}
	}
}

func TestRepositoryOf(t *testing.T) {
	for image, want := range map[string]string{
		"nginx": "nginx", "nginx:1.27": "nginx", "r:5000/web": "r:5000/web", "r:5000/web:1@sha256:ab": "r:5000/web",
	} {
		if got := sample.RepositoryOf(image); got != want {
			t.Errorf("the repository of %q is %q, want %q", image, got, want)
		}
	}
}
