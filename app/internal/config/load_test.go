// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const head = "apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\n"

func TestParse(t *testing.T) {
	got, err := Parse([]byte(head + `
api: {address: ":7070", tokenFile: /token, tls: {certFile: /cert, keyFile: /key}}
telemetry: # a section without fields changes nothing
watch:
  namespaces: [shop, "123"]
  exclude: [configmaps, deployments.apps, "*.example.com"]
engine: {settle: 1500ms}
sampling: {ratePerMillion: 250_000, keepFailed: false, keepSlowerThan: 2m}
retention: {age: 36h, size: 1.5Gi, outcomes: {failed: 720h}}
otlp: {endpoint: "grpcs://collector", outbox: {maxSpans: 10}}
replicas: {mode: standby, identity: null}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.API.Address, want.API.TokenFile = ":7070", "/token"
	want.API.TLS = TLSConfiguration{CertFile: "/cert", KeyFile: "/key"}
	want.Watch.Namespaces = []string{"shop", "123"}
	want.Watch.Exclude = []string{"configmaps", "deployments.apps", "*.example.com"}
	want.Engine.Settle = duration(1500 * time.Millisecond)
	want.Sampling = SamplingConfiguration{RatePerMillion: 250_000, KeepSlowerThan: duration(2 * time.Minute)}
	want.Retention.Age = duration(36 * time.Hour)
	want.Retention.Size.Set(3 << 29)
	want.Retention.Outcomes.Failed = duration(720 * time.Hour)
	want.OTLP.Endpoint = "grpcs://collector"
	want.OTLP.Outbox.MaxSpans = 10
	want.Replicas.Mode = ModeStandby
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Empty": {
			"the error has the required first fields", "",
			"configuration: it is empty: it must begin with apiVersion: lifeline.dev/v1alpha1 and kind: " +
				"ServerConfiguration",
		},
		"Comment": {
			"", "# nothing", "configuration: it is empty: it must begin with apiVersion: lifeline.dev/v1alpha1 and " +
				"kind: ServerConfiguration",
		},
		"NoMapping": {
			"", "hello", "configuration: it must be a mapping that begins with apiVersion: " +
				"lifeline.dev/v1alpha1 and kind: ServerConfiguration",
		},
		"Syntax": {"", head + "api: {", "configuration: yaml: line 3: did not find expected node content"},
		"Documents": {
			"", head + "---\na: b", "configuration: it must be one YAML document, but there is more after ---",
		},
		"NoKind": {
			"", "apiVersion: lifeline.dev/v1alpha1", "configuration: kind: Required value: must be ServerConfiguration",
		},
		"OtherVersion": {
			"", "apiVersion: lifeline.dev/v2\nkind: ServerConfiguration",
			`configuration:1: apiVersion: Unsupported value: "lifeline.dev/v2": supported values: ` +
				`"lifeline.dev/v1alpha1"`,
		},
		"Near": {
			"a typing error", head + "engine:\n  setle: 2s",
			"configuration:4: engine.setle: Forbidden: unknown field; did you mean settle?",
		},
		"OtherLetters": {
			"field names are case-sensitive", head + "datadir: x",
			"configuration:3: datadir: Forbidden: unknown field; did you mean dataDir?",
		},
		"Elsewhere": {
			"the name belongs to another section", head + "otlp:\n  maxAge: 1h",
			"configuration:4: otlp.maxAge: Forbidden: unknown field; did you mean otlp.outbox.maxAge?",
		},
		"Unknown": {"", head + "somethingElse: 1", "configuration:3: somethingElse: Forbidden: unknown field"},
		"Escaped": {
			"control characters are escaped for terminals", head + `"a\nb\e[1m": 1`,
			`configuration:3: a\nb\x1b[1m: Forbidden: unknown field`,
		},
		"Twice": {
			"", head + "log: {level: info}\napi: {}\nlog: {level: warn}",
			"configuration:5: log: Forbidden: given twice, first on line 3",
		},
		"Alias": {
			"", head + "log: &l {level: info}\napi: *l",
			"configuration:3: log: Forbidden: anchors and aliases are not supported: write the value " +
				"out\nconfiguration:4: api: Forbidden: anchors and aliases are not supported: write the value out",
		},
		"Merge": {"", head + "<<: {dataDir: x}", "configuration:3: <<: Forbidden: unknown field"},
		"NoSection": {
			"", head + "log: info",
			`configuration:3: log: Invalid value: "info": must be a section with the fields level, format`,
		},
		"NoValue": {
			"", head + "dataDir: [x]", `configuration:3: dataDir: Invalid value: "[…]": must be one value`,
		},
		"NoList": {
			"", head + "watch: {namespaces: shop}",
			`configuration:3: watch.namespaces: Invalid value: "shop": must be a list, such as [a, b]`,
		},
		"ListOfNumbers": {
			"", head + "watch: {namespaces: [a, 12]}",
			`configuration:3: watch.namespaces[1]: Invalid value: "12": must be a string: put it in quotes`,
		},
		"ListOfNull": {
			"", head + "watch: {namespaces: [~]}",
			`configuration:3: watch.namespaces[0]: Invalid value: "~": must be a string`,
		},
		"NoListOfRelations": {
			"",
			head + "relations: {}",
			`configuration:3: relations: Invalid value: "{…}": must be a list of sections with the fields name, ` +
				`from, ` +
				`to, match`,
		},
		"NullRelation": {
			"",
			head + "relations: [~]",
			`configuration:3: relations[0]: Invalid value: "~": must be a section with the fields name, from, to, ` +
				`match`,
		},
		"UnknownInRelation": {
			"", head + "relations:\n- name: a\n  form: {}\n  from: {kind: A}\n  to: {kind: B}\n  match: from.a == to.b",
			"configuration:5: relations[0].form: Forbidden: unknown field; did you mean from?",
		},
		"Match": {
			"the line is the file's, the position the expression's",
			head + "relations:\n" + exampleRelation + `
- name: other
  from: {group: apps, kind: Deployment}
  to: {kind: ConfigMap}
  match: from.metadata.name == to.metadata.nme && form.x == to.y
`,
			`configuration:14: relations[1].match:1:42: Invalid value: "from.metadata.name == to.metadata.nme && ` +
				`form.x ` +
				`== to.y": undeclared reference to 'form' (did you mean 'from'?)`,
		},
		"Bool": {
			"yes is not a boolean, unlike in YAML 1.1", head + "telemetry: {pprof: yes}",
			`configuration:3: telemetry.pprof: Invalid value: "yes": must be true or false`,
		},
		"Number": {
			"", head + "api: {maxStreams: 1.5}",
			`configuration:3: api.maxStreams: Invalid value: "1.5": must be a whole number`,
		},
		"Duration": {
			"a number has no unit", head + "engine: {settle: 2}",
			`configuration:3: engine.settle: Invalid value: "2": must be a duration, such as 500ms, 30s or 1h30m`,
		},
		"Days": {
			"", head + "retention: {age: 7d}",
			`configuration:3: retention.age: Invalid value: "7d": must be a duration, such as 500ms, 30s or 1h30m`,
		},
		"Size": {
			"", head + "retention: {size: 10GB}",
			`configuration:3: retention.size: Invalid value: "10GB": must be a size in bytes, such as 500Mi or 10Gi`,
		},
		"Exponent": {
			"printing the number would take forever", head + "retention: {size: 1e999999999}",
			`configuration:3: retention.size: Invalid value: "1e999999999": must be a size in bytes, such as 500Mi ` +
				`or 10Gi`,
		},
		"ListElement": {
			"the error has the element's line", head + "watch:\n  exclude:\n  - pods\n  - Deployments",
			`configuration:6: watch.exclude[1]: Invalid value: "Deployments": must be resource, resource.group or ` +
				`*.group, with the plural in small letters, such as configmaps, deployments.apps or *.example.com`,
		},
		"AllAtOnce": {
			"errors are in the order of the file; an unreadable field has only one",
			head + "log: {level: loud}\nkinds: 1\nengine: {settle: soon}",
			"configuration:3: log.level: Unsupported value: \"loud\": supported values: \"debug\", \"info\", " +
				"\"warn\", \"error\"\nconfiguration:4: kinds: Forbidden: unknown field; did you mean " +
				"kind?\nconfiguration:5: engine.settle: Invalid value: \"soon\": must be a duration, such as 500ms, " +
				"30s or 1h30m",
		},
		"OpenAPI": {
			"an open address must be explicit", head + "api:\n  address: :7070",
			`configuration:4: api.address: Invalid value: ":7070": must be of loopback, such as 127.0.0.1:7070, ` +
				`unless api.tls is set, and either api.tokenFile or api.authorization: kubernetes`,
		},
		"LongValue": {
			"messages are bounded", head + "log: {format: " + strings.Repeat("é", 500) + "}",
			`configuration:3: log.format: Unsupported value: "` + strings.Repeat("é", 40) +
				`…": supported values: "text", "json"`,
		},
		"LongField": {
			"", head + strings.Repeat("x", 900) + ": 1",
			"configuration:3: " + strings.Repeat("x", 80) + "…: Forbidden: unknown field",
		},
		"KeyIsNoScalar": {"", head + "[a]: 1", "configuration:3: …: Forbidden: unknown field"},
		"AliasInList": {
			"", head + "watch: {namespaces: [&a x, *a]}",
			"configuration:3: watch.namespaces[0]: Forbidden: anchors and aliases are not supported: write the " +
				"value out\nconfiguration:3: watch.namespaces[1]: Forbidden: anchors and aliases are not supported: " +
				"write the value out",
		},
		"Outcome": {
			"the outcomes are a closed list", head + "retention: {outcomes: {fialed: 1h}}",
			`configuration:3: retention.outcomes.fialed: Forbidden: unknown field; did you mean failed?`,
		},
		"DurationTooBig": {
			"", head + "retention: {age: 9999999h}",
			`configuration:3: retention.age: Invalid value: "9999999h": must be a duration, such as 500ms, ` +
				`30s or 1h30m`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOverride(t *testing.T) {
	if c, err := Parse(nil, func(c *ServerConfiguration) { c.DataDir = "x" }); err != nil || c.DataDir != "x" ||
		c.Kind != Kind {
		t.Errorf("no file: %+v, %v", c, err)
	}
	bad := func(c *ServerConfiguration) { c.API.Address = "nowhere" }
	good := func(c *ServerConfiguration) { c.Log.Level = LevelWarn; c.Watch.Namespaces = []string{"b"} }
	cases := map[string]struct {
		reason, text string
		override     Override
		want         string
	}{
		"CuresTheFile": {
			"a field that a flag overrides may be invalid in the file",
			"log: {level: loud}\nwatch: {namespaces: [A]}", good, "",
		},
		"IsWrong": {
			"an override's error has no line of the file", "api: {address: ':1'}", bad,
			`configuration: api.address: Invalid value: "nowhere": must be host:port, such as 127.0.0.1:7070 or ` +
				`[::1]:7070`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head+tc.text), tc.override)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	write(head)
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("a file without fields: -want +got:\n%s", diff)
	}
	write(head + "log: {level: loud}")
	_, err = Load(file)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot use the configuration: "+file+":3: log.level: ") {
		t.Errorf("want an error with file and line, got %v", err)
	}
	var wrong *field.Error
	if !errors.As(err, &wrong) || wrong.Field != "log.level" {
		t.Errorf("want a *field.Error for log.level, got %v", wrong)
	}
	write(head + strings.Repeat("#", maxSize))
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("a huge file: %v", err)
	}
}
