package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	"github.com/mattfenwick/cyclonus/pkg/kube"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	readyTimeout = 2 * time.Minute
	interval     = 50 * time.Millisecond
)

// place is where OVN has a pod.
type place struct {
	logicalSwitch, port, mac, ip string
}

// cluster is the lab's cluster as Cyclonus sees it. A pod is created when it runs and serves, and a namespace deleted when it is gone.
type cluster struct {
	*kube.Kubernetes
	pattern string
	servers map[string]*server
}

var _ kube.IKubernetes = (*cluster)(nil)

func openCluster(kubeconfig, pattern string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// Each case sets all labels anew.
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	inner := &kube.Kubernetes{ClientSet: client, RestConfig: config}
	return &cluster{Kubernetes: inner, pattern: pattern, servers: map[string]*server{}}, nil
}

func (c *cluster) close() {
	for _, server := range c.servers {
		server.close()
	}
}

func (c *cluster) netns(namespace, pod string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "POD", pod).Replace(c.pattern)
}

// CreatePod implements kube.IKubernetes.
func (c *cluster) CreatePod(pod *v1.Pod) (*v1.Pod, error) {
	created, err := c.Kubernetes.CreatePod(pod)
	if err != nil {
		return nil, err
	}
	err = until(fmt.Sprintf("pod %s/%s runs", pod.Namespace, pod.Name), func() (bool, error) {
		created, err = c.Kubernetes.GetPod(pod.Namespace, pod.Name)
		return err == nil && created.Status.Phase == v1.PodRunning && created.Status.PodIP != "", err
	})
	if err != nil {
		return nil, err
	}
	return created, c.serve(pod.Namespace, pod.Name)
}

// serve lets a pod answer, if it does not.
func (c *cluster) serve(namespace, pod string) error {
	key := probe.NewPodString(namespace, pod).String()
	if c.servers[key] != nil {
		return nil
	}
	server, err := serve(c.netns(namespace, pod), key, ports)
	if err == nil {
		c.servers[key] = server
	}
	return err
}

// DeletePod implements kube.IKubernetes.
func (c *cluster) DeletePod(namespace, pod string) error {
	c.stopServing(probe.NewPodString(namespace, pod).String())
	return c.Kubernetes.DeletePod(namespace, pod)
}

// DeleteNamespace implements kube.IKubernetes.
func (c *cluster) DeleteNamespace(namespace string) error {
	for key := range c.servers {
		if strings.HasPrefix(key, namespace+"/") {
			c.stopServing(key)
		}
	}
	if err := c.Kubernetes.DeleteNamespace(namespace); err != nil {
		return err
	}
	return until("namespace "+namespace+" is gone", func() (bool, error) {
		_, err := c.ClientSet.CoreV1().Namespaces().Get(context.TODO(), namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// ExecuteRemoteCommand implements kube.IKubernetes: nothing asks for it, as pods have no containers here.
func (c *cluster) ExecuteRemoteCommand(namespace, pod, container string, command []string) (string, string, error, error) {
	return "", "", nil, fmt.Errorf("no container %s in pod %s/%s for %v", container, namespace, pod, command)
}

func (c *cluster) stopServing(key string) {
	if server := c.servers[key]; server != nil {
		server.close()
		delete(c.servers, key)
	}
}

// servicesOf gives the Service of each pod, by the key of the pod.
func (c *cluster) servicesOf(resources *probe.Resources) (map[string]*v1.Service, error) {
	services := map[string]*v1.Service{}
	for _, pod := range resources.Pods {
		service, err := c.GetService(pod.Namespace, pod.ServiceName())
		if err != nil {
			return nil, err
		}
		services[pod.PodString().String()] = service
	}
	return services, nil
}

// places gives where OVN has each pod, by the key of the pod.
func (c *cluster) places(resources *probe.Resources) (map[string]place, error) {
	places := map[string]place{}
	for _, pod := range resources.Pods {
		object, err := c.GetPod(pod.Namespace, pod.Name)
		if err != nil {
			return nil, err
		}
		places[pod.PodString().String()] = place{
			logicalSwitch: object.Annotations["ovn.kubernetes.io/logical_switch"],
			port:          fmt.Sprintf("%s.%s", pod.Name, pod.Namespace),
			mac:           object.Annotations["ovn.kubernetes.io/mac_address"],
			ip:            object.Status.PodIP,
		}
	}
	return places, nil
}

// until waits until the check is true, or gives its error.
func until(what string, check func() (bool, error)) error {
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); time.Sleep(interval) {
		if isTrue, err := check(); isTrue || err != nil {
			return err
		}
	}
	return fmt.Errorf("waited %s until %s", readyTimeout, what)
}
