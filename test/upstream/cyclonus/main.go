// Command cyclonus runs the cases of Cyclonus in a lab whose pods are network namespaces: Cyclonus makes the objects, changes them through the API
// server, and says which connections must pass; this program serves and connects in the pods.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	"github.com/mattfenwick/cyclonus/pkg/generator"
	"github.com/sirupsen/logrus"
	v1 "k8s.io/api/core/v1"
)

var (
	namespaces = []string{"x", "y", "z"}
	pods       = []string{"a", "b", "c"}
	ports      = []int{80, 81}
	protocols  = []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}
)

func init() {
	// Other goroutines change the namespace of their thread, which the first one must never be.
	runtime.LockOSThread()
}

func main() {
	folder := flag.String("cluster", "", "folder of the lab's cluster, with its kubeconfig, the sockets of its databases, and bin/")
	netns := flag.String("netns", "", "network namespace of a pod, in which NAMESPACE and POD stand for its own")
	focus := flag.String("focus", "", "regular expression of the cases to run, each written as `NUMBER: DESCRIPTION [TAGS]`")
	skip := flag.String("skip", "", "regular expression of the cases to leave out")
	flag.Parse()
	logrus.SetLevel(logrus.WarnLevel)
	isPassed, err := run(*folder, *netns, choice(*focus, *skip))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !isPassed {
		os.Exit(1)
	}
}

func run(folder, netns string, isChosen func(name string) bool) (bool, error) {
	cluster, err := openCluster(filepath.Join(folder, "kubeconfig"), netns)
	if err != nil {
		return false, err
	}
	defer cluster.close()
	ovn, err := openOvn(folder)
	if err != nil {
		return false, err
	}
	defer ovn.close()
	resources, err := probe.NewDefaultResources(cluster, namespaces, pods, ports, protocols, nil, 60, false, "registry.k8s.io")
	if err != nil {
		return false, err
	}
	// In a lab that was kept, Cyclonus has found the pods and not created them.
	for _, pod := range resources.Pods {
		if err := cluster.serve(pod.Namespace, pod.Name); err != nil {
			return false, err
		}
	}
	last, err := resources.GetPod("z", "c")
	if err != nil {
		return false, err
	}
	judge := &judge{cluster: cluster, ovn: ovn, resources: resources}
	cases := generator.NewTestCaseGenerator(true, last.IP, namespaces, nil, nil).GenerateTestCases()
	report := newReport(len(cases))
	for index, testCase := range cases {
		name := nameOf(index, testCase)
		if !isChosen(name) {
			continue
		}
		since := time.Now()
		result := judge.execute(testCase)
		report.add(name, result, time.Since(since))
	}
	return report.end(), nil
}

// nameOf is the name of a case: descriptions alone are not unique.
func nameOf(index int, testCase *generator.TestCase) string {
	return fmt.Sprintf("%d: %s [%s]", index+1, testCase.Description, strings.Join(sortedTags(testCase), " "))
}

func choice(focus, skip string) func(name string) bool {
	wanted, unwanted := regexp.MustCompile(focus), regexp.MustCompile(skip)
	return func(name string) bool {
		return wanted.MatchString(name) && (skip == "" || !unwanted.MatchString(name))
	}
}
