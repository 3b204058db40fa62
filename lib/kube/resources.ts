/** The kinds the rooms watch and write, and their paths in the API. */
import type { ObjectName, Resource } from './types.ts';

function resource(group: string, version: string, plural: string, kind: string, namespaced: boolean): Resource {
  return { group, version, plural, kind, namespaced };
}

export const pods = resource('', 'v1', 'pods', 'Pod', true);
export const nodes = resource('', 'v1', 'nodes', 'Node', false);
export const namespaces = resource('', 'v1', 'namespaces', 'Namespace', false);
export const secrets = resource('', 'v1', 'secrets', 'Secret', true);
export const configMaps = resource('', 'v1', 'configmaps', 'ConfigMap', true);
export const services = resource('', 'v1', 'services', 'Service', true);
export const endpointSlices = resource('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice', true);
export const networkPolicies = resource('networking.k8s.io', 'v1', 'networkpolicies', 'NetworkPolicy', true);
/** Served only where the CRDs of the Network Policy API are installed. */
export const clusterNetworkPolicies = resource(
  'policy.networking.k8s.io',
  'v1alpha2',
  'clusternetworkpolicies',
  'ClusterNetworkPolicy',
  false,
);
export const adminNetworkPolicies = resource(
  'policy.networking.k8s.io',
  'v1alpha1',
  'adminnetworkpolicies',
  'AdminNetworkPolicy',
  false,
);
export const baselineAdminNetworkPolicies = resource(
  'policy.networking.k8s.io',
  'v1alpha1',
  'baselineadminnetworkpolicies',
  'BaselineAdminNetworkPolicy',
  false,
);
/** Served only where the CRDs of the Multi-Cluster Services API are installed. */
export const serviceExports = resource('multicluster.x-k8s.io', 'v1beta1', 'serviceexports', 'ServiceExport', true);
export const serviceImports = resource('multicluster.x-k8s.io', 'v1beta1', 'serviceimports', 'ServiceImport', true);
/** From Kubernetes 1.33 on. */
export const serviceCidrs = resource('networking.k8s.io', 'v1', 'servicecidrs', 'ServiceCIDR', false);
export const events = resource('', 'v1', 'events', 'Event', true);
export const leases = resource('coordination.k8s.io', 'v1', 'leases', 'Lease', true);

export const certificateSigningRequests = resource(
  'certificates.k8s.io',
  'v1',
  'certificatesigningrequests',
  'CertificateSigningRequest',
  false,
);
export const daemonSets = resource('apps', 'v1', 'daemonsets', 'DaemonSet', true);
export const jobs = resource('batch', 'v1', 'jobs', 'Job', true);
export const deployments = resource('apps', 'v1', 'deployments', 'Deployment', true);
export const statefulSets = resource('apps', 'v1', 'statefulsets', 'StatefulSet', true);

export const storageClasses = resource('storage.k8s.io', 'v1', 'storageclasses', 'StorageClass', false);
export const customResourceDefinitions = resource(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
);

/** Served only where Multus or KubeVirt is installed. */
export const networkAttachmentDefinitions = resource(
  'k8s.cni.cncf.io',
  'v1',
  'network-attachment-definitions',
  'NetworkAttachmentDefinition',
  true,
);
export const virtualMachines = resource('kubevirt.io', 'v1', 'virtualmachines', 'VirtualMachine', true);
export const virtualMachineInstances = resource(
  'kubevirt.io',
  'v1',
  'virtualmachineinstances',
  'VirtualMachineInstance',
  true,
);

export const vpcs = resource('kubeovn.io', 'v1', 'vpcs', 'Vpc', false);
export const subnets = resource('kubeovn.io', 'v1', 'subnets', 'Subnet', false);
export const ips = resource('kubeovn.io', 'v1', 'ips', 'IP', false);
export const ipPools = resource('kubeovn.io', 'v1', 'ippools', 'IPPool', false);
export const vips = resource('kubeovn.io', 'v1', 'vips', 'Vip', false);
export const switchLbRules = resource('kubeovn.io', 'v1', 'switch-lb-rules', 'SwitchLBRule', false);
export const routerLbRules = resource('kubeovn.io', 'v1', 'router-lb-rules', 'RouterLBRule', false);
export const vpcDnses = resource('kubeovn.io', 'v1', 'vpc-dnses', 'VpcDns', false);
export const loadBalancerPools = resource('isthmus.network', 'v1', 'loadbalancerpools', 'LoadBalancerPool', false);
export const sharedAddresses = resource('isthmus.network', 'v1alpha1', 'sharedaddresses', 'SharedAddress', false);
export const askedDomains = resource('isthmus.network', 'v1alpha1', 'askeddomains', 'AskedDomains', false);
export const securityGroups = resource('kubeovn.io', 'v1', 'security-groups', 'SecurityGroup', false);

export const providerNetworks = resource('kubeovn.io', 'v1', 'provider-networks', 'ProviderNetwork', false);
export const vlans = resource('kubeovn.io', 'v1', 'vlans', 'Vlan', false);

export const ovnEips = resource('kubeovn.io', 'v1', 'ovn-eips', 'OvnEip', false);
export const ovnFips = resource('kubeovn.io', 'v1', 'ovn-fips', 'OvnFip', false);
export const ovnSnatRules = resource('kubeovn.io', 'v1', 'ovn-snat-rules', 'OvnSnatRule', false);
export const ovnDnatRules = resource('kubeovn.io', 'v1', 'ovn-dnat-rules', 'OvnDnatRule', false);
export const vpcNatGateways = resource('kubeovn.io', 'v1', 'vpc-nat-gateways', 'VpcNatGateway', false);
export const vpcEgressGateways = resource('kubeovn.io', 'v1', 'vpc-egress-gateways', 'VpcEgressGateway', true);
export const iptablesEips = resource('kubeovn.io', 'v1', 'iptables-eips', 'IptablesEIP', false);
export const iptablesFips = resource('kubeovn.io', 'v1', 'iptables-fip-rules', 'IptablesFIPRule', false);
export const iptablesSnats = resource('kubeovn.io', 'v1', 'iptables-snat-rules', 'IptablesSnatRule', false);
export const iptablesDnats = resource('kubeovn.io', 'v1', 'iptables-dnat-rules', 'IptablesDnatRule', false);
export const qosPolicies = resource('kubeovn.io', 'v1', 'qos-policies', 'QoSPolicy', false);

export const interconnects = resource('isthmus.network', 'v1alpha1', 'interconnects', 'Interconnect', false);
export const remoteClusters = resource('isthmus.network', 'v1alpha1', 'remoteclusters', 'RemoteCluster', false);
export const remoteRouteSlices = resource(
  'isthmus.network',
  'v1alpha1',
  'remoterouteslices',
  'RemoteRouteSlice',
  false,
);
export const remotePodSlices = resource('isthmus.network', 'v1alpha1', 'remotepodslices', 'RemotePodSlice', false);
export const transitSwitches = resource('isthmus.network', 'v1alpha1', 'transitswitches', 'TransitSwitch', false);
export const interconnectGateways = resource(
  'isthmus.network',
  'v1alpha1',
  'interconnectgateways',
  'InterconnectGateway',
  false,
);
export const gatewayKeySlices = resource('isthmus.network', 'v1alpha1', 'gatewaykeyslices', 'GatewayKeySlice', false);
export const routePolicies = resource('isthmus.network', 'v1alpha1', 'routepolicies', 'RoutePolicy', false);
export const hubMembers = resource('isthmus.network', 'v1alpha1', 'hubmembers', 'HubMember', false);
export const bgpInstances = resource('isthmus.network', 'v1alpha1', 'bgpinstances', 'BgpInstance', false);
export const bgpPeers = resource('isthmus.network', 'v1alpha1', 'bgppeers', 'BgpPeer', false);
export const bgpAdvertisements = resource(
  'isthmus.network',
  'v1alpha1',
  'bgpadvertisements',
  'BgpAdvertisement',
  false,
);

export const bgpNodeStates = resource('isthmus.network', 'v1alpha1', 'bgpnodestates', 'BgpNodeState', false);
export const bgpRouteSlices = resource('isthmus.network', 'v1alpha1', 'bgprouteslices', 'BgpRouteSlice', false);

/** `v1`, `kubeovn.io/v1`: the apiVersion of objects of this resource. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The path of all objects, or of those of one namespace. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const base = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${base}${scope}/${resource.plural}`;
}

/** The path of one object. @throws RangeError when a namespaced kind comes without a namespace: a defect of the caller */
export function objectPath(resource: Resource, name: ObjectName, subresource?: string): string {
  if (resource.namespaced && name.namespace === undefined)
    throw new RangeError(`${resource.kind} "${name.name}" needs a namespace`);
  const path = `${collectionPath(resource, name.namespace)}/${encodeURIComponent(name.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `namespace/name`, or `name` for cluster-scoped kinds: the key of an object among those of its kind. */
export function keyOf(object: ObjectName): string {
  // Joined, the text is in one piece; a template would keep its parts beside it in every map of thousands of keys.
  return object.namespace === undefined ? object.name : [object.namespace, object.name].join('/');
}
