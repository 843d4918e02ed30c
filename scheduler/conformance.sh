#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs Kubernetes' own tests of the scheduler, with spans on each scheduler that they make. An overlay
# adds a call to scheduler.New and to Scheduler.ScheduleOne, and a file to the tests
# (testdata/conformance). It fails if these schedulers have no spans. Without spans (PLAIN=1), the same
# tests run unchanged. Arguments go to `go test`.
set -eu
cd "$(dirname "$0")"
export GOWORK=off OTEL_BSP_SCHEDULE_DELAY=100
version=$(sed -n 's/^\tk8s.io\/kubernetes v1\./v0./p' go.mod)
kubernetes=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
# Always the same folder, for Go's build cache.
work=${TMPDIR:-/tmp}/lifeline-scheduler-conformance
mkdir -p "$work"

# The tests import more than the scheduler, so go.mod needs the replacements of tidy.sh.
sed "s|=> \.\.$|=> $(cd .. && pwd)|" go.mod > "$work/go.mod"
cp go.sum "$work/go.sum"
sed -n "s|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|replace \1 => \1 $version|p" "$kubernetes/go.mod" >> "$work/go.mod"

# An overlay cannot change files of the module cache, but those behind a link to it.
ln -sfn "$kubernetes" "$work/kubernetes"
echo "replace k8s.io/kubernetes => $work/kubernetes" >> "$work/go.mod"

scheduler=$work/kubernetes/pkg/scheduler
sed 's|^\treturn sched, nil$|\tbeforeUse(sched)\n&|' "$scheduler/scheduler.go" > "$work/scheduler.go"
sed 's|^func (sched \*Scheduler) ScheduleOne(ctx context.Context) {$|&\n\tbeforeUse(sched)|' \
	"$scheduler/schedule_one.go" > "$work/schedule_one.go"
for file in scheduler.go schedule_one.go; do
	if cmp -s "$scheduler/$file" "$work/$file"; then
		echo "cannot add the spans: $file of Kubernetes has changed, so adapt conformance.sh" >&2
		exit 1
	fi
done
cat > "$work/before_use.go" <<'GO'
package scheduler

// BeforeUse is called with each scheduler that New returns or ScheduleOne runs.
var BeforeUse func(*Scheduler)

func beforeUse(sched *Scheduler) {
	if BeforeUse != nil {
		BeforeUse(sched)
	}
}
GO
cat > "$work/overlay.json" <<JSON
{"Replace": {
	"$scheduler/scheduler.go": "$work/scheduler.go",
	"$scheduler/schedule_one.go": "$work/schedule_one.go",
	"$scheduler/before_use.go": "$work/before_use.go",
	"$scheduler/lifeline_test.go": "$PWD/testdata/conformance/traced_test.go"
}}
JSON
[ -n "${PLAIN:-}" ] || overlay="-overlay $work/overlay.json"
export LIFELINE_MARKS="$work/marks"
: > "$LIFELINE_MARKS"
go test -modfile "$work/go.mod" -mod=mod ${overlay:-} -vet=off -count 1 "$@" k8s.io/kubernetes/pkg/scheduler
[ -z "${PLAIN:-}" ] || exit 0

# Success means nothing if the schedulers had no spans. Some tests of Kubernetes have a framework of their
# own, which cannot have spans.
if ! grep -q '^spans$' "$LIFELINE_MARKS"; then
	echo "no scheduler of the tests sent spans" >&2
	exit 1
fi
untraced=$(grep '^not traced: ' "$LIFELINE_MARKS" | grep -v ': scheduler.FakeFramework has no field ' | sort | uniq -c)
if [ -n "$untraced" ]; then
	printf 'schedulers of the tests have no spans:\n%s\n' "$untraced" >&2
	exit 1
fi
