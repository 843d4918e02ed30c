// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/webhook"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// webhookFlags are the flags for the configuration.
type webhookFlags struct {
	*common
	name, service, url   string
	caFile, certManager  string
	namespaces, excluded []string
	observe              bool
	dryRun               dryRun
}

const webhookHelp = `The API server checks the webhook's certificate against --ca-file, or against the
authority that cert-manager (--cert-manager) or the server itself (the default)
writes into the configuration. The webhook gets no calls for kube-system,
kube-public, kube-node-lease and the server's namespace. It also gets none for Events,
Leases, Endpoints, EndpointSlices, Secrets, statuses, tokens, access reviews, roles,
certificate requests and the configuration of admission. Writes of nodes are excluded.`

// add adds the flags beside those of the kubeconfig, which have the namespace.
func (f *webhookFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Lookup("namespace").Usage = "namespace of the server, excluded from the webhook; " +
		"by default that of --service, or lifeline"
	flags.StringVar(&f.name, "name", registration.DefaultName, "name of the MutatingWebhookConfiguration")
	flags.StringVar(&f.service, "service", "",
		fmt.Sprintf("Service of the webhook, as NAMESPACE/NAME[:PORT]; by default %s:%d in the server's "+
			"namespace", registration.DefaultService, registration.DefaultPort))
	flags.StringVar(&f.url, "url", "",
		"URL of the webhook instead of a Service, such as https://192.0.2.1:9443"+webhook.Path)
	flags.StringVar(&f.caFile, "ca-file", "",
		"file with the certificate authorities of the serving certificate, in PEM")
	flags.StringVar(&f.certManager, "cert-manager", "",
		"let cert-manager write the authority of this Certificate, NAMESPACE/NAME")
	flags.StringArrayVar(&f.namespaces, "exclude-namespace", nil,
		"also exclude this namespace; may be repeated")
	flags.StringArrayVar(&f.excluded, "exclude", nil,
		"also exclude RESOURCE, RESOURCE.GROUP or *.GROUP; may be repeated")
	flags.BoolVar(&f.observe, "observe", true,
		"also observe requests that get no context: deletions, scalings, evictions, resizings, ephemeral "+
			"containers")
}

// complete converts the flags to options.
func (f *webhookFlags) complete() (o registration.Options, err error) {
	o = registration.Options{
		Name: f.name, Namespace: f.config.Context.Namespace, ExcludeNamespaces: f.namespaces, Observe: f.observe,
	}
	switch {
	case f.service != "" && f.url != "":
		return o, errors.New("give either --service or --url: one server gets the requests")
	case f.caFile != "" && f.certManager != "":
		return o, errors.New("give either --ca-file or --cert-manager: the authorities have one source")
	case f.url != "":
		if o.URL, err = registration.ParseURL(f.url); err != nil {
			return o, err
		}
	case f.service != "":
		if o.Service, err = registration.ParseService(f.service); err != nil {
			return o, err
		}
	}
	o.Namespace = cmp.Or(o.Namespace, o.Service.Namespace, "lifeline")
	if f.url == "" && f.service == "" {
		o.Service = registration.Service{
			NamespacedName: types.NamespacedName{Namespace: o.Namespace, Name: registration.DefaultService},
			Port:           registration.DefaultPort,
		}
	}
	if f.certManager != "" {
		if o.Certificate, err = registration.ParseCertificate(f.certManager); err != nil {
			return o, err
		}
	}
	if f.caFile != "" {
		if o.CA, err = registration.ReadCA(f.caFile); err != nil {
			return o, err
		}
	}
	if o.Exclude, err = registration.ParseExcluded(f.excluded); err != nil {
		return o, err
	}
	return o, o.Validate()
}

func newWebhookInstall(streams genericiooptions.IOStreams) *cobra.Command {
	f := &webhookFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Register the admission webhook with a cluster",
		Long: `Register the admission webhook with a cluster: apply the configuration that
"lifeline webhook print" prints. Run it again to change flags. It does not install
the server.

` + webhookHelp,
		Example: `  lifeline webhook install
  lifeline webhook install --service tracing/lifeline-webhook --cert-manager tracing/lifeline-webhook
  lifeline webhook install --url https://192.0.2.1:9443/admission --ca-file ca.crt --dry-run`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.complete()
			if err != nil {
				return err
			}
			to, err := f.connected()
			if err != nil {
				return err
			}
			return execute(cmd.Context(), &registration.Install{
				Options: o, REST: to.Kubeconfig.Current(), DryRun: f.dryRun == dryRunServer, Out: streams.Out,
			})
		},
	}
	f.addConfig(cmd)
	f.add(cmd)
	f.dryRun = dryRunNone
	cmd.Flags().Var(&f.dryRun, "dry-run",
		"server: let the API server check the configuration without storing it; or none")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = string(dryRunServer)
	return cmd
}

func newWebhookPrint(streams genericiooptions.IOStreams) *cobra.Command {
	f := &webhookFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the admission webhook's configuration, as a manifest",
		Long: `Print the admission webhook's configuration as a manifest, without a cluster.

` + webhookHelp,
		Example: `  lifeline webhook print -n tracing > webhook.yaml
  lifeline webhook print --exclude-namespace ci --exclude '*.noisy.example.com' | kubectl apply --server-side -f -`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.complete()
			if err != nil {
				return err
			}
			return execute(cmd.Context(), &registration.Print{Options: o, Out: streams.Out})
		},
	}
	f.config.addNamespace(cmd.Flags())
	f.add(cmd)
	return cmd
}

func newWebhookUninstall(streams genericiooptions.IOStreams) *cobra.Command {
	f := newCommon(streams)
	c := &registration.Uninstall{Out: streams.Out}
	var convention string
	var known []string
	for _, k := range lifeline.Conventions() {
		known = append(known, k.String())
	}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the admission webhook's configuration",
		Long: `Remove the admission webhook's configuration, so that the API server no longer
calls the webhook. Contexts stay on objects; the output says how to remove them.
Without a configuration the command succeeds.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, k := range lifeline.Conventions() {
				if k.String() == convention {
					c.Convention = k
				}
			}
			if c.Convention == (lifeline.Convention{}) {
				return fmt.Errorf("--convention %.80q: known are %s", convention, strings.Join(known, ", "))
			}
			if err := registration.CheckName(c.Name); err != nil {
				return err
			}
			to, err := f.connected()
			if err != nil {
				return err
			}
			c.REST = to.Kubeconfig.Current()
			return execute(cmd.Context(), c)
		},
	}
	f.addConfig(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.Name, "name", registration.DefaultName, "name of the MutatingWebhookConfiguration")
	flags.StringVar(&convention, "convention", lifeline.Default.String(),
		"convention of the remaining annotations: "+strings.Join(known, ", "))
	flags.BoolVar(&c.DryRun, "dry-run", false, "print the objects without deleting them")
	completeWords(cmd, known, "convention")
	return cmd
}
