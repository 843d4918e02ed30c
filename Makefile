# Lifeline. `make help` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
MAKEFLAGS   += --no-print-directory

ifeq ($(filter oneshell,$(.FEATURES)),)
$(error this needs GNU make 4; on macOS: brew install make, then gmake)
endif

space     := $(subst ,, )
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# gRPC without its debug pages: with them the linker removes no unused method.
TAGS      := grpcnotrace
LDFLAGS   := -s -w -X main.version=$(VERSION)
MODULES   := . operator app kubelet lab e2e examples/head-operator examples/scheduler-operator scheduler release tools/chart
UNITS     := . operator app kubelet examples/head-operator examples/scheduler-operator scheduler
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
LAB       := bin/lab
LIFELINE  := bin/lifeline
LINTER    := bin/golangci-lint

# The race detector is C; without a compiler the tests run without it. It leaves out SQLite's own code, nearly all
# of it translated from C: our tests of SQLite take 3 times as long with the detector, and with that code in it 20
# times.
# What is no test with the detector is built in one way, without C and with the paths of this checkout: a second way
# compiles all dependencies again.
RACE = $(shell command -v "$$(go env CC)" >/dev/null && echo -race -gcflags=modernc.org/sqlite/lib=-race=false)
# A program with the detector sleeps for a second before its end, so that goroutines may still race. The tests wait for
# their goroutines.
RACED = GORACE=atexit_sleep_ms=0 CGO_ENABLED=$(if $(RACE),1,0)
export CGO_ENABLED := 0

# These have other dependencies and are not in go.work: scheduler/ those of Kubernetes' release
# (docs/adr/0006-scheduler-plugins.md).
ALONE = if [[ $$m =~ ^(scheduler|release|tools/chart)$$ ]]; then export GOWORK=off; fi

.PHONY: help
help: ## List the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: demo
demo: ## Trace one change on a real Kubernetes; the first run builds it and shows a recording first
	@examples/demo.sh

.PHONY: demo-history
demo-history: ## A month of synthetic changes on the page, without a cluster; DEMO_API is the address
	@cd app
	go build -tags $(TAGS) -o ../bin/history ./cmd/history
	exec ../bin/history $(if $(DEMO_API),-address $(DEMO_API))

.PHONY: demo-operator
demo-operator: bin ## Trace a change through an operator that carries contexts, and print the tree
	@examples/head-operator/demo.sh

.PHONY: demo-scheduler
demo-scheduler: bin scheduler ## Change the policy of a scheduler: one trace, to the filters and scores of each Pod
	@examples/scheduler-operator/demo.sh

.PHONY: bin
bin: ## Build lifeline and the lab for this machine into bin/
	@echo "building $(LIFELINE) and $(LAB)"
	(cd app && go build -tags $(TAGS) -ldflags '$(LDFLAGS)' -o ../$(LIFELINE) ./cmd/lifeline)
	(cd lab && go build -o ../$(LAB) ./cmd/lab)

# The page is committed as it is built, so that `go build` needs no Node.
.PHONY: web
web: ## Build the web page from web/ into app/internal/page; needs Node 20.19 or 22.12
	@cd web
	npm ci --no-audit --no-fund
	npm run build
	npm run build:file

# The ldflags of a release of Kubernetes; without them --version is v0.0.0.
KUBERNETES = $(shell sed -n 's|^\tk8s.io/kubernetes ||p' scheduler/go.mod)

.PHONY: csi-proxy device-proxy
csi-proxy: ## Build lifeline-csi-proxy, between kubelet and CSI driver, for this machine into bin/
device-proxy: ## Build lifeline-device-proxy, between kubelet and device plugins, for this machine into bin/
csi-proxy device-proxy:
	@echo "building bin/lifeline-$@"
	cd kubelet && go build -tags $(TAGS) -ldflags '-s -w' -o ../bin/lifeline-$@ ./cmd/lifeline-$@

.PHONY: scheduler
scheduler: ## Build lifeline-scheduler, a kube-scheduler with spans, for this machine into bin/
	@echo "building bin/lifeline-scheduler"
	cd scheduler && GOWORK=off go build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)' -o ../bin/lifeline-scheduler ./cmd/lifeline-scheduler

.PHONY: build
build: ## Build lifeline for Linux, macOS and Windows, amd64 and arm64, into dist/
	@for p in $(PLATFORMS); do
		out=dist/lifeline-$${p%/*}-$${p#*/}
		[ $${p%/*} = windows ] && out=$$out.exe
		echo "building $$out"
		(cd app && GOOS=$${p%/*} GOARCH=$${p#*/} go build -tags $(TAGS) -trimpath -ldflags '$(LDFLAGS)' -o ../$$out ./cmd/lifeline)
	done

# What makes a release, pinned as the linter is. helm is the lab's.
RELEASERS := bin/goreleaser bin/cyclonedx-gomod bin/helm
RELEASE    = KUBERNETES='$(KUBERNETES)' PLATFORMS='$(PLATFORMS)' release/release.sh

.PHONY: release
release: $(RELEASERS) ## Make all files of a release into dist/: make release VERSION=v0.1.0 (docs/guides/release.md)
	@VERSION='$(VERSION)' $(RELEASE)

# The port of the server that the test installs from.
RELEASE_PORT ?= 17080

.PHONY: release-test
release-test: export VERSION := v0.0.0-test
release-test: export RELEASE_URL := http://127.0.0.1:$(RELEASE_PORT)
release-test: $(RELEASERS) bin/krew bin/validate-krew-manifest ## Make a release, and install each kind of file from a server on loopback
	@key="$$(mktemp)"
	trap 'rm -f "$$key"' EXIT
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$$key"
	DIST=bin/release-test SIGN_KEY="$$key" $(RELEASE)
	cd release
	PLATFORMS='$(PLATFORMS)' LIFELINE_DIST=$(CURDIR)/bin/release-test LIFELINE_TOOLS=$(CURDIR)/bin \
		GOWORK=off go test -v -count 1 -run '^TestDist$$' .

.PHONY: release-check
release-check: $(RELEASERS) ## Build dist/ again, in another folder and with an empty cache, and compare; PLATFORMS narrows it
	@VERSION='$(VERSION)' KUBERNETES='$(KUBERNETES)' PLATFORMS='$(PLATFORMS)' release/check.sh

.PHONY: release-unit
release-unit: ## Tests of install.sh and of how a release is packed
	@cd release && GOWORK=off go test $(SHORT) -timeout 10m ./...

# What Debian must supply for real nodes.
DEPS := apt-get update && apt-get install -y runc containernetworking-plugins

.PHONY: deps
deps: ## Install what Debian must supply for real nodes (root)
	$(DEPS)

.PHONY: host
host: # deps, for root on a Debian without them
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { command -v runc && [ -d /usr/lib/cni ]; } >/dev/null; then
		$(DEPS)
	fi

# Tests of minutes skip themselves under -short. `make lint` has go vet. The unit tests compute, and the parts beside
# them wait, mostly; the end-to-end tests are alone.
.PHONY: test
test: ## Test every part, in 15 to 25 minutes; the first run builds Kubernetes into a cache
	@short='SHORT=-short -vet=off'
	$(MAKE) kubernetes bin
	$(MAKE) -j2 "$$short" unit chart-test release-unit lab-test cluster-test web-test
	$(MAKE) "$$short" e2e

.PHONY: test-all
test-all: vet unit chart-test rules-test release-unit release-test operator-oldest scheduler-conformance lab-test cluster-test web-test e2e sso upstream e2e-components e2e-jaeger e2e-versions ## Test everything: the long tests, older Kubernetes, Jaeger; some two hours

.PHONY: vet
vet: ## go vet in every module
	@for m in $(MODULES); do (cd $$m; $(ALONE); echo "vet $$m"; go vet ./...); done

# These mostly compute in one goroutine. Some take minutes under the race detector, and their long tests hours: make
# test runs them without it, and make test-all the short tests again with it. They run beside the others, and so do
# those of scheduler/, whose dependencies, Kubernetes, take two minutes to compile.
UNRACED := /app/internal/(archive/document|export|lifecycle|normalize|outline|snapshot|source/apiproto|span|stitch|store/sqlite)$$

.PHONY: unit
unit: ## Unit tests, with the race detector where there is a C compiler
	@[ -n "$(RACE)" ] || echo "SKIP: the race detector needs a C compiler: apt-get install gcc"
	all="$$(go list $(patsubst %,./%/...,$(filter-out scheduler,$(UNITS))))"
	$(if $(SHORT),export GOGC=400) # less processor time and more memory, also of Go's tools
	unraced="$$(grep -E '$(UNRACED)' <<<"$$all")"
	raced="$$(grep -vE '$(UNRACED)' <<<"$$all")"
	status=0
	(
		go test $(SHORT) -timeout 60m $$unraced
		cd scheduler
		GOWORK=off go test $(SHORT) -timeout 60m ./...
	) & beside=$$!
	$(RACED) go test $(RACE) $(SHORT) -timeout 40m $$raced || status=1
	wait $$beside || status=1
	$(if $(SHORT),exit $$status)
	$(if $(RACE),$(RACED) go test $(RACE) -short -timeout 40m $$unraced || status=1)
	$(if $(RACE),(cd scheduler && GOWORK=off $(RACED) go test $(RACE) -short -timeout 40m ./...) || status=1)
	exit $$status

# The workspace has the newest versions of the kit's dependencies, and its go.mod the oldest (docs/versions.md).
.PHONY: operator-oldest
operator-oldest: ## The operator kit's tests with the oldest controller-runtime that it supports
	cd operator && GOWORK=off go test -short -timeout 40m ./...

.PHONY: scheduler-conformance
scheduler-conformance: ## Kubernetes' own tests of the scheduler, on schedulers with spans
	scheduler/conformance.sh -count 1 -timeout 30m

.PHONY: kubernetes
kubernetes: host ## Build the Kubernetes that the tests run on into the lab's cache; on Debian, root gets `make deps`, too
	@cd lab
	go run ./cmd/lab build --nodes kwok
	if [ "$$(id -u)" = 0 ]; then
		go run ./cmd/lab build --nodes real
	else
		echo "SKIP: tests on real nodes need root; those on fake nodes run"
	fi

# The add-ons of the tests on fake nodes.
ADD_ONS := flux,helm,cert-manager,argo-cd,cluster-api,sample-apiserver

# Never from Go's cache of test results: these tests run programs, and on a
# machine, that it does not know of. One package at a time, shown as it goes.
.PHONY: lab-test
lab-test: kubernetes ## Tests of the lab, on clusters that it starts
	@cd lab
	if [ -z "$(SHORT)" ]; then # the first build takes longer than the limit of the tests may allow
		go run ./cmd/lab build --add-ons $(ADD_ONS)
		if [ "$$(id -u)" = 0 ]; then go run ./cmd/lab build --nodes real --add-ons metrics-server; fi
	fi
	go test -v -count 1 $(SHORT) -p 1 -timeout 60m ./...

# Unit tests that need an API server, which their packages do not start.
.PHONY: cluster-test
cluster-test: kubernetes bin ## What the API server asks the webhook, and whether its certificate is renewed in time
	@dir="$$(mktemp -d)"
	trap '$(LAB) down --dir "$$dir"; rm -rf "$$dir"' EXIT
	$(LAB) up --dir "$$dir" --nodes none
	export KUBECONFIG="$$($(LAB) kubeconfig --dir "$$dir")" LIFELINE_WEBHOOK_CLUSTER=1
	(cd app && go test -v -count 1 $(SHORT) -p 1 -timeout 10m -run '^(TestWhatIsAsked|TestOnARealCluster)$$' ./internal/webhook/registration ./internal/webhook/certificate)

# PAGE has the files that `make web` builds. CHROMIUM is the browser of the tests.
PAGE     := app/internal/page/assets
# FILE has those for a trace in one file.
FILE     := app/internal/page/file
CHROMIUM ?= $(shell command -v chromium || command -v google-chrome)

.PHONY: web-test
web-test: web-check ## The page in Chromium, on a cluster of the lab: a smoke test, in make test-all all
	@if ! command -v npm >/dev/null; then
		echo "SKIP: the page in a browser: there is no Node (20.19 or 22.12)"
	elif [ -z "$(CHROMIUM)" ]; then
		echo "SKIP: the page in a browser: there is no Chromium (apt-get install chromium)"
	else
		$(MAKE) kubernetes bin
		cd web && CHROMIUM=$(CHROMIUM) node test/run.mjs $(if $(SHORT),smoke,all)
	fi

.PHONY: web-check
web-check: ## Whether the committed page is what its source builds
	@if ! command -v npm >/dev/null; then
		echo "SKIP: whether the page is what its source builds: there is no Node (20.19 or 22.12)"
		exit
	fi
	built="$$(mktemp -d)"
	trap 'rm -rf "$$built"' EXIT
	(cd web && npm ci --no-audit --no-fund && npm run --silent build -- --outDir "$$built/page" --emptyOutDir --logLevel warn &&
		npm run --silent build:file -- --outDir "$$built/file" --emptyOutDir --logLevel warn)
	diff -rq "$$built/page" $(PAGE) && diff -rq "$$built/file" $(FILE) || { echo "$(PAGE) or $(FILE) is not what web/ builds: make web, and commit it" >&2; exit 1; }

.PHONY: screenshots
screenshots: kubernetes bin scheduler ## The pictures of docs/guides; needs Node and Chromium
	@cd web
	npm ci --no-audit --no-fund
	CHROMIUM=$(CHROMIUM) node test/run.mjs screenshots
	CHROMIUM=$(CHROMIUM) node test/screenshots-scheduler.mjs

# Those that tell by the clock who has failed, or how much is used, run alone.
QUIET := ./replicas ./churn ./capacity
# Those of which -short skips all, except for tests of their own helpers and the small size of capacity. They take
# longer to link than to skip.
SLOW  := ./accuracy ./addons ./audit ./components ./foreign ./jaeger ./oncall ./reasons $(QUIET)
# Those with a target of their own.
APART := ./upstream ./sso
# The longest begin first, so that none of them runs alone at the end.
LONG  := ./server ./cli ./serve ./admission ./kit
# Tests of one package side by side: they wait more than they compute.
PARALLEL := -parallel 4

.PHONY: e2e
e2e: kubernetes ## End-to-end tests on real clusters; real nodes need root and `make deps`
	@if [ -z "$(SHORT)" ]; then (cd lab && go run ./cmd/lab build --add-ons $(ADD_ONS)); fi
	cd e2e
	go test -v -count 1 $(SHORT) $(PARALLEL) -p 3 -timeout 90m $(LONG) \
		$$(go list ./... | grep -vE '/($(subst $(space),|,$(patsubst ./%,%,$(LONG) $(APART) $(if $(SHORT),$(SLOW),$(QUIET)))))$$')
	$(if $(SHORT),,go test -v -count 1 -p 1 -timeout 90m $(QUIET))

.PHONY: sso
sso: kubernetes ## Single sign-on: an OpenID issuer, oauth2-proxy and a browser; the first run builds them, some three minutes
	@if command -v npm >/dev/null && [ ! -d web/node_modules/playwright-core ]; then
		(cd web && npm ci --no-audit --no-fund)
	fi
	cd e2e
	CHROMIUM=$(CHROMIUM) go test -v -count 1 -timeout 40m ./sso

.PHONY: upstream
upstream: kubernetes ## Kubernetes' own end-to-end tests beside four servers; rewrites its part of docs/accuracy.md
	@(cd lab && go run ./cmd/lab build --upstream-tests)
	cd e2e && go test -v -count 1 -parallel 8 -timeout 60m ./upstream $(if $(filter test-all,$(MAKECMDGOALS)),,-update)

.PHONY: e2e-components
e2e-components: kubernetes ## What the components of Kubernetes tell of themselves, held against the docs; real nodes
	@cd e2e && LIFELINE_E2E_COMPONENTS=1 go test -v -count 1 -timeout 40m ./components

.PHONY: e2e-jaeger
e2e-jaeger: kubernetes ## Each trace as a real Jaeger has it; the first run builds Jaeger, some five minutes
	@cd e2e && LIFELINE_E2E_JAEGER=1 go test -v -count 1 -timeout 40m ./jaeger

# The end-to-end tests that are to hold for every Kubernetes.
VERSIONED := $(patsubst e2e/%,./%/...,$(wildcard e2e/kwok e2e/cli e2e/serve))

.PHONY: e2e-versions
e2e-versions: bin ## End-to-end tests on fake nodes, on each older Kubernetes that the lab runs (or VERSIONS=1.35)
	@status=0
	for v in $${VERSIONS:-$$($(LAB) versions | tail -n +2)}; do
		echo "test e2e on Kubernetes $$v"
		$(LAB) build --kubernetes $$v
		(cd e2e && LIFELINE_LAB_KUBERNETES=$$v go test -v -count 1 -p 1 -timeout 90m $(VERSIONED)) || status=1
	done
	exit $$status

# The chart is a module of its own, not in go.work: helm's library has other dependencies.
.PHONY: manifests
manifests: ## Render deploy/, the manifests of lifeline install and docs/guides/helm.md from the Helm chart
	@cd tools/chart && GOWORK=off go run .

.PHONY: chart-test
chart-test: ## The Helm chart: lint, golden renders, and whether the rendered manifests are stale
	@cd tools/chart && GOWORK=off go test $(SHORT) ./...

.PHONY: rules-test
rules-test: bin/promtool ## The alert rules and the queries of the dashboard, by promtool; builds it for some minutes
	@cd tools/chart && GOWORK=off LIFELINE_PROMTOOL=$(CURDIR)/bin/promtool go test -run 'TestRules|TestDashboard' ./...

.PHONY: lint
lint: $(LINTER) ## golangci-lint in every module
	@status=0
	for m in $(MODULES); do
		echo "lint $$m"
		(cd $$m && GOWORK=off $(CURDIR)/$(LINTER) run --config $(CURDIR)/.golangci.yml ./...) || status=1
	done
	exit $$status

.PHONY: fmt
fmt: $(LINTER) ## Format the Go code: gofmt and the order of imports
	@for m in $(MODULES); do (cd $$m && GOWORK=off $(CURDIR)/$(LINTER) fmt --config $(CURDIR)/.golangci.yml ./...); done

$(LINTER): tools/golangci-lint.mod tools/golangci-lint.sum
	@echo "building $@"
	GOWORK=off go build -modfile=$< -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# tool builds a package of a tool from the tool's pins. The program is the same on each machine: cyclonedx-gomod writes
# its own checksum into its lists. The lab compiles helm in this way, too.
define tool
@echo "building $@"
GOWORK=off go build -modfile=$< -trimpath -buildvcs=false -ldflags '-s -w' -o $@ $(1)
endef

bin/goreleaser: tools/goreleaser.mod tools/goreleaser.sum
	$(call tool,github.com/goreleaser/goreleaser/v2)

bin/cyclonedx-gomod: tools/cyclonedx-gomod.mod tools/cyclonedx-gomod.sum
	$(call tool,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)

bin/krew bin/validate-krew-manifest: bin/%: tools/krew.mod tools/krew.sum
	$(call tool,sigs.k8s.io/krew/cmd/$*)

bin/promtool: tools/promtool.mod tools/promtool.sum
	$(call tool,github.com/prometheus/prometheus/cmd/promtool)

bin/helm: lab/internal/build/modules/helm.mod lab/internal/build/modules/helm.sum
	$(call tool,helm.sh/helm/v4/cmd/helm)

.PHONY: bench
bench: ## Benchmarks; docs/performance.md holds figures of one run
	@for m in . operator app scheduler; do (cd $$m; $(ALONE); go test -run '^$$' -bench . -benchmem ./...); done
	cd e2e && go test -run '^$$' -bench . -benchtime 5x -timeout 30m ./...

.PHONY: reasons
reasons: kubernetes ## Make things go wrong on a real node and ask why; rewrites docs/reasons.md (root)
	@(cd lab && go run ./cmd/lab build --nodes real --add-ons metrics-server)
	cd e2e && go test -v -count 1 -timeout 15m ./reasons -update

# The history is synthetic: it needs no cluster.
REGRESSION_SEEDS ?= 200
.PHONY: regressions
regressions: ## Plant shifts in synthetic years and look for them; rewrites its part of docs/regressions.md
	@cd app
	go run ./cmd/regressions -seeds $(REGRESSION_SEEDS) -update ../docs/regressions.md

.PHONY: oncall
oncall: kubernetes ## Break twelve things and ask what is broken for twelve minutes; rewrites its part of docs/reasons.md
	cd e2e && go test -v -count 1 -timeout 40m ./oncall -update

.PHONY: accuracy
accuracy: kubernetes ## Changes by several people, judged by the audit log; rewrites docs/accuracy.md
	@(cd lab && go run ./cmd/lab build --add-ons $(ADD_ONS))
	if [ "$$(id -u)" = 0 ]; then (cd lab && go run ./cmd/lab build --nodes real --add-ons metrics-server); fi
	cd e2e && go test -v -count 1 -parallel 8 -timeout 30m ./accuracy -update

# How large and how long; e2e/churn/scale_test.go knows the fields.
CHURN ?= nodes=500,pods=5000,deployments=50,namespaces=10,for=1h,every=20s,sample=15s,keep=$(CURDIR)/bin/churn

.PHONY: churn
churn: kubernetes ## An hour of rollouts on 500 nodes beside one lifeline serve; prints docs/performance.md's table
	@cd e2e && LIFELINE_CHURN='$(CHURN)' go test -v -count 1 -timeout 3h ./churn

# How large and how long; e2e/capacity/scale_test.go knows the fields.
CAPACITY ?= keep=$(CURDIR)/bin/capacity

.PHONY: capacity
capacity: ## 5,000 Nodes and 150,000 Pods of a generated API server; prints docs/performance.md's table
	@cd e2e && LIFELINE_CAPACITY='$(CAPACITY)' go test -v -count 1 -timeout 1h -run '^TestCapacity$$' ./capacity

# How many times the inputs of the short run, which is part of `make e2e`.
ATTACK ?= 20

.PHONY: attack
attack: kubernetes ## Damaged, forged and hostile input to each port of a server; prints the table of docs/security.md
	@cd e2e && LIFELINE_ATTACK=$(ATTACK) go test -v -count 1 -timeout 1h -run '^TestAttack$$' ./serve

.PHONY: fuzz
fuzz: ## Each fuzz target for 20 seconds
	@for m in $(UNITS); do (cd $$m
		$(ALONE)
		for p in $$(go list ./...); do
			for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz || true); do
				go test -run '^$$' -fuzz "^$$f$$" -fuzztime 20s $$p
			done
		done); done

.PHONY: keep-data
keep-data: kubernetes bin ## Keep the data of a release for the tests of later ones: make keep-data VERSION=v0.1.0
	@app/internal/serve/testdata/keep.sh $(VERSION)

.PHONY: clean
clean: ## Remove what was built here (not the lab's cache)
	rm -rf bin dist
