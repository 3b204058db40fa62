package main

import (
	"fmt"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity"
	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	"github.com/mattfenwick/cyclonus/pkg/generator"
	"github.com/mattfenwick/cyclonus/pkg/matcher"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

const (
	// What is not as expected is tried again, until so often; Cyclonus itself waits for a fixed time and tries everything twice.
	tries = 5
	pause = time.Second
	// From this try on, the datapaths begin without cached flows.
	forgetful = 2
)

// judge executes cases one after the other.
type judge struct {
	cluster   *cluster
	ovn       *ovn
	resources *probe.Resources
}

// execute resets the cluster, then does and probes each step of the case.
func (j *judge) execute(testCase *generator.TestCase) *connectivity.Result {
	result := &connectivity.Result{InitialResources: j.resources, TestCase: testCase}
	state := &connectivity.TestCaseState{Kubernetes: j.cluster, Resources: j.resources}
	since := j.ovn.changes()
	if result.Err = state.ResetClusterState(); result.Err != nil {
		return result
	}
	if result.Err = state.VerifyClusterState(); result.Err != nil {
		return result
	}
	for index, step := range testCase.Steps {
		for _, action := range step.Actions {
			if result.Err = perform(state, action); result.Err != nil {
				return result
			}
		}
		if index == 0 || len(step.Actions) > 0 {
			if result.Err = j.ovn.untilWritten(since); result.Err != nil {
				return result
			}
		}
		var probed *connectivity.StepResult
		if probed, result.Err = j.probe(state, step.Probe); result.Err != nil {
			return result
		}
		result.Steps = append(result.Steps, probed)
		since = j.ovn.changes()
	}
	return result
}

func perform(state *connectivity.TestCaseState, action *generator.Action) error {
	switch {
	case action.CreatePolicy != nil:
		return state.CreatePolicy(action.CreatePolicy.Policy)
	case action.UpdatePolicy != nil:
		return state.UpdatePolicy(action.UpdatePolicy.Policy)
	case action.DeletePolicy != nil:
		return state.DeletePolicy(action.DeletePolicy.Namespace, action.DeletePolicy.Name)
	case action.ReadNetworkPolicies != nil:
		return state.ReadPolicies(action.ReadNetworkPolicies.Namespaces)
	case action.CreateNamespace != nil:
		return state.CreateNamespace(action.CreateNamespace.Namespace, action.CreateNamespace.Labels)
	case action.SetNamespaceLabels != nil:
		return state.SetNamespaceLabels(action.SetNamespaceLabels.Namespace, action.SetNamespaceLabels.Labels)
	case action.DeleteNamespace != nil:
		return state.DeleteNamespace(action.DeleteNamespace.Namespace)
	case action.CreatePod != nil:
		return state.CreatePod(action.CreatePod.Namespace, action.CreatePod.Pod, action.CreatePod.Labels)
	case action.SetPodLabels != nil:
		return state.SetPodLabels(action.SetPodLabels.Namespace, action.SetPodLabels.Pod, action.SetPodLabels.Labels)
	case action.DeletePod != nil:
		return state.DeletePod(action.DeletePod.Namespace, action.DeletePod.Pod)
	}
	return fmt.Errorf("unknown action %+v", action)
}

func (j *judge) probe(state *connectivity.TestCaseState, config *generator.ProbeConfig) (*connectivity.StepResult, error) {
	policy := matcher.BuildNetworkPolicies(true, state.Policies)
	builder := &probe.JobBuilder{}
	expected := probe.NewSimulatedRunner(policy, builder).RunProbeForConfig(config, state.Resources)
	services, err := j.cluster.servicesOf(state.Resources)
	if err != nil {
		return nil, err
	}
	expectLoopback(expected, state.Resources, services)
	result := connectivity.NewStepResult(expected, policy, append([]*networkingv1.NetworkPolicy{}, state.Policies...))
	for try := 0; try < tries; try++ {
		if try > 0 {
			time.Sleep(pause)
		}
		if try >= forgetful {
			if err := j.ovn.forgetFlows(); err != nil {
				return nil, err
			}
		}
		places, err := j.cluster.places(state.Resources)
		if err != nil {
			return nil, err
		}
		jobs := &jobRunner{cluster: j.cluster, ovn: j.ovn, services: services, places: places, expected: expected}
		jobs.patience = min(patience<<try, longestPatience)
		if try > 0 {
			jobs.previous = result.LastKubeProbe()
		}
		runner := &probe.Runner{JobRunner: jobs, JobBuilder: builder}
		result.AddKubeProbe(runner.RunProbeForConfig(config, state.Resources))
		if result.Passed(false) {
			break
		}
	}
	return result, nil
}

// expectLoopback replaces what Cyclonus expects of connections of a pod to itself, of which it says nothing unless it ignores them: they always pass, if
// the Service selects the pod. By SCTP they are not tried, as they need not leave the pod.
func expectLoopback(expected *probe.Table, resources *probe.Resources, services map[string]*v1.Service) {
	for _, pod := range resources.Pods {
		key := pod.PodString().String()
		selects := true
		for label, value := range services[key].Spec.Selector {
			selects = selects && pod.Labels[label] == value
		}
		for _, result := range expected.Get(key, key).JobResults {
			switch {
			case result.Combined != probe.ConnectivityAllowed && result.Combined != probe.ConnectivityBlocked:
			case result.Job.Protocol == v1.ProtocolSCTP:
				result.Combined = probe.ConnectivityUnknown
			case selects:
				result.Combined = probe.ConnectivityAllowed
			default:
				result.Combined = probe.ConnectivityBlocked
			}
		}
	}
}
