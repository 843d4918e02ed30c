// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strings"
	"testing"
)

// masking masks the canary, as a caller does that knows it.
func masking(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, canary+",0ther", mark), canary, mark)
}

// TestMasked: text is shown, values are masked. The canary is known of the object with the message, and not
// of a refused object.
func TestMasked(t *testing.T) {
	const same = "="
	long := "the server has no room for one more of these: "
	long += strings.Repeat("x ", (512-len(long)-len(canary)+4)/2) + canary
	long = long[:512]
	cases := map[string]struct {
		in string
		// refused: the values of a refused object are known, too.
		refused bool
		want    string
	}{
		"plain":    {in: "Failed to wait for order web-1: no such account", want: same},
		"value":    {in: "login with " + canary + " failed", want: "login with … failed"},
		"lines":    {in: "a\n  b\tc", want: "a b c"},
		"withheld": {in: Withheld, want: same},

		"ACME": {
			in: `Failed to register ACME account: 429 urn:ietf:params:acme:error:rateLimited: too many new ` +
				`registrations (10) from this IP address in the last 3h0m0s: see ` +
				`https://letsencrypt.org/docs/rate-limits/?token=` + canary,
			want: `Failed to register ACME account: 429 urn:ietf:params:acme:error:rateLimited: too many new ` +
				`registrations (10) from this IP address in the last 3h0m0s: see https://letsencrypt.org`,
		},
		"policy, refused unknown": {
			in:   `admission webhook "p.example.com" denied the request: password hunter is short`,
			want: `admission webhook "p.example.com" denied the request: ` + Withheld,
		},
		"policy": {
			in: `Error creating: pods "web-" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
				`request: env PASSWORD=` + canary + ` must come from a Secret`,
			refused: true,
			want: `Error creating: pods "web-" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied ` +
				`request: env PASSWORD=… must come from a Secret`,
		},
		"Flux": {
			in: `Deployment/shop/web dry-run failed (Forbidden): admission webhook "p" denied the request: ` +
				`PASSWORD=0ther is not allowed`,
			want: `Deployment/shop/web dry-run failed (Forbidden): admission webhook "p" denied the request: ` +
				Withheld,
		},
		"Flux, field": {
			in: `Deployment/shop/web dry-run failed (Invalid): Deployment.apps "web" is invalid: ` +
				`spec.template.spec.containers[0].resources.requests: Invalid value: "500m": must be less than or ` +
				`equal to cpu limit of 200m`,
			want: same,
		},
		"Flux, Secret": {
			in: `Secret/shop/db dry-run failed (Invalid): Secret "db" is invalid: data[k]: Invalid value: ` +
				`"0ther": bad`,
			want: `Secret/shop/db dry-run failed (Invalid): Secret "db" is invalid: data[…]: Invalid value ` + Withheld,
		},
		"Secret, unknown form": {
			in: `apply failed: Secret "DB" is invalid: data[k]: Invalid value: "0ther"`, refused: true,
			want: "apply failed: " + Withheld,
		},
		"Argo CD": {
			in: `one or more objects failed to apply, reason: Deployment.apps "web" is invalid: spec.selector: ` +
				`Invalid value: {"matchLabels":{"app":"0ther"}}: field is immutable. Retrying attempt #1 at 3:04PM.`,
			want: `one or more objects failed to apply, reason: Deployment.apps "web" is invalid: spec.selector: ` +
				`Invalid value ` + Withheld,
		},
		"bad value": {
			in: `spec.song: Invalid value: "` + canary + `x": too loud`, refused: true,
			want: `spec.song: Invalid value: …: too loud`,
		},
		"bad value in words": {
			in:   `the field has Invalid value: "0therwise": too loud`,
			want: `the field has ` + Withheld,
		},
		"a struct": {
			in: `Pod "web" is invalid: spec.x: Invalid value: core.Spec{Env:"0therwise"}: it is not so`, refused: true,
			want: `Pod "web" is invalid: spec.x: Invalid value ` + Withheld,
		},
		"changed": {
			in: "Pod \"web\" is invalid: spec: Forbidden: pod updates may not change fields other than " +
				"`spec.tolerations`\n core.PodSpec{ Env: \"0therwise\" }", refused: true,
			want: "Pod \"web\" is invalid: spec: Forbidden: pod updates may not change fields other than " +
				"`spec.tolerations` " + Withheld,
		},
		"webhook, list": {
			in: `admission webhook "v" denied the request: Foo.example.com "x" is invalid: [spec.a: Invalid value: ` +
				`"0ther": not ` + canary + `, spec.b: Required value: say why]`,
			refused: true,
			want: `admission webhook "v" denied the request: Foo.example.com "x" is invalid: spec.a: Invalid value: ` +
				`…: not …, spec.b: Required value: say why`,
		},
		"program": {
			in:   "terraform failed: exit status 1: password is 0ther",
			want: "terraform failed: exit status 1: " + Withheld,
		},
		"program, lines": {
			in:   "terraform failed: exit status 1\n\npassword is 0ther",
			want: "terraform failed: exit status 1 " + Withheld,
		},
		"program, output": {
			in:   "MountVolume.SetUp failed for volume \"v\" : mount failed\nOutput: password 0ther",
			want: `MountVolume.SetUp failed for volume "v" : mount failed Output: ` + Withheld,
		},
		"program, command": {
			in:   "Manifest generation error (cached): `helm template . --set a=0ther` failed exit status 1: 0ther",
			want: "Manifest generation error (cached): " + Withheld,
		},
		"program, end": {in: "the hook ended with exit code 1", want: same},
		"probe":        {in: "Liveness probe failed: wrong password", want: "Liveness probe failed: " + Withheld},
		"hook":         {in: "Exec lifecycle hook ([sh]) failed", want: "Exec lifecycle hook " + Withheld},
		"exec":         {in: "Error: it failed: exec: \"x\": bad", want: "Error: it failed: exec: " + Withheld},
		"pod security": {
			in: `pods "web" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != ` +
				`false (container "web" must set securityContext.allowPrivilegeEscalation=false)`,
			refused: true, want: same,
		},
		"URL": {
			in:   "cannot fetch https://me:" + canary + "@git.example.com:8443/a/b?token=c: no route",
			want: "cannot fetch https://git.example.com:8443: no route",
		},
		"URL, odd": {in: "cannot fetch redis://:p@ss@h/1", want: "cannot fetch redis://…"},
		"login":    {in: "cannot open me:0ther@tcp(db)/x", want: "cannot open …@tcp(db)/x"},
		"cut": {
			in: "cannot log in with the password " + canary[:4] + "...", want: "cannot log in with the password …",
		},
		"cut, quoted": {
			in: `cannot log in: "password ` + canary[:4] + `…"`, want: `cannot log in: "password …`,
		},
		"named":           {in: "the token is a1b2c3d4, db_password=hello-x", want: "the token is …, db_password=…"},
		"named, quoted":   {in: `password: "a b c d"`, want: "password: …"},
		"named, no value": {in: "the token is expired, secret: missing, no password", want: same},
		"cut inside": {
			in:   `the keys "` + canary[:4] + `...", ` + canary[:5] + `… and ...` + canary[5:] + ` are bad`,
			want: `the keys … … and … are bad`,
		},
		"parsed": {
			in: `cannot load the file: strconv.ParseInt: parsing "0ther": invalid syntax; yaml: line 2: cannot ` +
				"unmarshal !!str `0ther` into int; time: invalid duration \"0ther\"; parse \"redis://u:0ther@h\": " +
				`invalid port ":0ther" after host; syntax error near '0ther'; expected a number, got "0ther"`,
			want: `cannot load the file: strconv.ParseInt: parsing …: invalid syntax; yaml: line 2: cannot ` +
				`unmarshal !!str … into int; time: invalid duration …; parse …: invalid port … after host; ` +
				`syntax error near …; expected a number, got …`,
		},
		"value with separators": {
			in: "login=" + canary + ",0ther failed", want: "login=… failed",
		},
		"broken text":    {in: "the key 0the\xff is bad", want: "the key … is bad"},
		"cut at a limit": {in: long, want: long[:strings.LastIndex(long, " ")] + " …"},
		"decoding": {
			in: `Deployment in version "v1" cannot be handled as a Deployment: error found in #10 byte of ` +
				`...|"othe|...`,
			refused: true, want: `Deployment in version "v1" cannot be handled as a Deployment: ` + Withheld,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cleaner := &Cleaner{Text: masking}
			if c.refused {
				cleaner.Refused = masking
			}
			want := c.want
			if want == same {
				want = c.in
			}
			all := cleaner.Clean(c.in)
			got := unquote.Replace(all) // TestQuote
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if strings.Contains(got, "0ther") {
				t.Error("a value is in the output")
			}
			if strict := Strict(all); strings.ContainsAny(strict, openQuote+closeQuote) || Strict(strict) != strict {
				t.Errorf("the strict form is %q", strict)
			}
		})
	}
}

// TestQuote: text of unknown form is in quotes, so that it can be withheld later.
func TestQuote(t *testing.T) {
	cleaner := &Cleaner{Text: masking, Refused: masking}
	for in, want := range map[string]struct{ masked, strict string }{
		"Container started": {"Container started", "Container started"},
		"login failed":      {"“login failed”", Withheld},
		"it is “so”":        {"“it is so”", Withheld},
		"Error creating: the disk is full": {
			"Error creating: “the disk is full”", "Error creating: " + Withheld,
		},
		`1/2 nodes are available: 1 node(s) hate you. preemption: no`: {
			`1/2 nodes are available: 1 “node(s) hate you”. preemption: “no”`,
			`1/2 nodes are available: 1 ` + Withheld + `. preemption: ` + Withheld,
		},
		"it failed: exit status 1: other": {"“it failed: exit status 1:” " + Withheld, Withheld + " " + Withheld},
		`admission webhook "v" denied the request: Foo.example.com "x" is invalid: spec.b: Required value: say why`: {
			`admission webhook "v" denied the request: “Foo.example.com "x" is invalid: spec.b: Required value: ` +
				`say why”`,
			`admission webhook "v" denied the request: ` + Withheld,
		},
	} {
		got := cleaner.Clean(in)
		if got != want.masked || Strict(got) != want.strict {
			t.Errorf("%q: got %q, %q", in, got, Strict(got))
		}
		if strict := Clean(got); strings.ContainsAny(strict, openQuote+closeQuote) {
			t.Errorf("%q: a strict Clean returns %q", in, strict)
		}
	}
	long := cleaner.Clean("Error creating: " + strings.Repeat("the disk is full ", 100))
	if len(long) > maxOutput || !strings.HasSuffix(long, " …”") {
		t.Errorf("got %d bytes, %q", len(long), long)
	}
	for part, want := range map[string]string{
		"a b” c “d e” f g”": Withheld, "b” c” d": Withheld + " d", "“a “b” c” d": Withheld + " d",
	} {
		if got := Strict(part); got != want {
			t.Errorf("%q: the strict form is %q", part, got)
		}
	}
	for part, want := range map[string]string{
		"so: “cut": "so: “cut”", "cut”: so": "“cut”: so", "a” b “c": "“a” b “c”", "“a” b": "“a” b", "a": "a",
	} {
		if got := Requote(part); got != want {
			t.Errorf("%q: got %q, want %q", part, got, want)
		}
		if got := Strict(part); strings.Contains(got, "cut") || strings.ContainsAny(got, "“”") {
			t.Errorf("%q: the strict form is %q", part, got)
		}
	}
	if got := Quote("it is so."); got != "“it is so”" {
		t.Errorf("got %q", got)
	}
}
